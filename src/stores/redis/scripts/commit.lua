--[[
Applies commits in the order given: of each all writes, or none. Those to one partition are a group with one revision and one entry
of its feed, as long as no key is written twice: every call of Redis from Lua costs more than what it does.

KEYS     four for each partition: head   items   index   feed
ARGV     1 format   2 number of partitions: what a partition must have been written as
         3 bytes of changes after which the older half of a feed is cut off
         then for each commit:
           which partition of KEYS, from 1   the highest revision the caller has seen of it   number of writes
           and three for each write: key, expected revision or "absent", "+<value>" or "-"
Returns  for each commit the revision as a string, "" when an expectation does not hold, or "!" and the error that kept its
         group from writing anything. An error instead of all that: nothing was written.

Promises: a revision is greater than the partition's last, than what the caller has seen and than the engine's clock in
microseconds at its last commit, so that an engine that came back without its last seconds, or a replica that never got them,
does not give out a revision again. What fails in use (no memory, a replica that is read-only) fails before the first write.
An entry of the feed names the revision before it: a reader knows whether it missed one, or saw one that is lost.
]]
local format, partitions, half = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- What Lua can hand on at once, and a little less.
local MOST_FIELDS = 7900

-- An error before the first write ends the call; one after it is of its group alone.
local written = false

local heads = {}
for at = 1, #KEYS, 4 do
  local stored, count, last, fresh, mark =
    unpack(redis.call('HMGET', KEYS[at], 'format', 'partitions', 'revision', 'fresh', 'mark'))
  if stored and (stored ~= format or count ~= partitions) then
    return redis.error_reply('HOLDFASTFORMAT ' .. stored .. ' ' .. count)
  end
  heads[#heads + 1] = { key = KEYS[at], items = KEYS[at + 1], index = KEYS[at + 2], feed = KEYS[at + 3],
    last = last or '0', fresh = tonumber(fresh or 0), mark = mark or '0' }
end

-- Commits to be made together: their entry for the feed and how much it has to say, where in ARGV their writes are, and to which keys.
local function newGroup(head)
  return { entry = { 'prev', head.last }, bytes = 0, seen = 0, writes = {}, keys = {} }
end

local function write(head, group)
  for _, at in ipairs(group.writes) do
    local key, expected, change = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if change == '-' then
      redis.call('HDEL', head.items, key)
      redis.call('ZREM', head.index, key)
    else
      redis.call('HSET', head.items, key, head.last .. ' ' .. string.sub(change, 2))
      if expected == 'absent' then redis.call('ZADD', head.index, 0, key) end
    end
  end
end

-- Its revision, or "!" and an error.
local function make(head, group)
  local revision = string.format('%.0f', math.max(tonumber(head.last) + 1, group.seen + 1, now))
  if #group.entry > MOST_FIELDS then return '!ERR more writes than a commit may have' end
  local added = (written and redis.pcall or redis.call)('XADD', head.feed, revision .. '-0', unpack(group.entry))
  if type(added) == 'table' then return '!' .. added.err end

  written = true
  head.last, head.fresh = revision, head.fresh + group.bytes
  if head.fresh > half then
    if head.mark ~= '0' then redis.call('XTRIM', head.feed, 'MINID', head.mark) end
    head.fresh, head.mark = 0, revision
  end
  write(head, group)
  head.isChanged = true
  return revision
end

local function finish(head)
  if head.group and #head.group.writes > 0 then head.group.result = make(head, head.group) end
  head.group = nil
end

local function expectationsHold(head, from, to)
  for at = from, to, 3 do
    local expected = ARGV[at + 1]
    local item = redis.call('HGET', head.items, ARGV[at])
    if expected == 'absent' then
      if item then return false end
    elseif not item or string.sub(item, 1, #expected + 1) ~= expected .. ' ' then
      return false
    end
  end
  return true
end

-- The group that it was added to; nothing when an expectation does not hold.
local function add(head, seen, from, to)
  for at = from, to, 3 do
    if head.group and head.group.keys[ARGV[at]] then finish(head) end
  end
  if not expectationsHold(head, from, to) then return nil end
  head.group = head.group or newGroup(head)
  local group = head.group
  group.seen = math.max(group.seen, seen)
  for at = from, to, 3 do
    local key, change = ARGV[at], ARGV[at + 2]
    group.entry[#group.entry + 1] = key
    group.entry[#group.entry + 1] = change
    group.bytes = group.bytes + #key + #change
    group.writes[#group.writes + 1] = at
    group.keys[key] = true
  end
  return group
end

local groups = {}
local at = 4
while at <= #ARGV do
  local first = at + 3
  local last = first + 3 * tonumber(ARGV[at + 2]) - 1
  groups[#groups + 1] = add(heads[tonumber(ARGV[at])], tonumber(ARGV[at + 1]), first, last) or false
  at = last + 1
end

for _, head in ipairs(heads) do
  finish(head)
  if head.isChanged then
    redis.call('HSET', head.key, 'format', format, 'partitions', partitions, 'revision', head.last,
      'fresh', string.format('%.0f', head.fresh), 'mark', head.mark)
  end
end
local results = {}
for i, group in ipairs(groups) do results[i] = group and group.result or '' end
return results
