--[[
Makes commits to one or several partitions. Those to one partition that can be made are made as one: at one revision, with one entry of
its feed. A call of Redis from Lua costs more than what it does, so each is made once for all of them.

KEYS     four for each partition: head   items   index   feed
ARGV     1 format   2 number of partitions: what a partition must have been written as
         3 bytes of changes after which the older half of a feed is cut off
         then for each partition:
           the highest revision the caller has seen of it
           a letter for each write: "P" puts and "D" deletes, small if it belongs to the same commit as the write before it
           and three for each write: key, "<expected revision> " or "" if it must be absent, value. No key is written twice.
Returns  for each partition its last revision before, its revision now, and the numbers of its commits, from 1, whose expectations do not
         hold. The second is "" if that is all of them, and "!" and an error if the others may have been made in part.
         An error instead of all that: nothing was written.

Promises: a revision is greater than the partition's last, than what the caller has seen and than the engine's clock in
microseconds at its last commit, so that an engine that came back without its last seconds, or a replica that never got them,
does not give out a revision again. What fails in use (no memory, a replica that is read-only) fails before the first write.
An entry of the feed names the revision before it: a reader knows whether it missed one, or saw one that is lost.
]]
local byte, find, unpack = string.byte, string.find, unpack
local format, partitions, half = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- Of two fields each, and a little less than what Lua can hand on at once.
local MOST_WRITES = 3900
local SMALL_LETTERS = byte('a')
local PUT, PUT_TOO = byte('P'), byte('p')

local heads = {}
local at = 4
for key = 1, #KEYS, 4 do
  local stored, count, last, fresh, mark =
    unpack(redis.call('HMGET', KEYS[key], 'format', 'partitions', 'revision', 'fresh', 'mark'))
  if stored and (stored ~= format or count ~= partitions) then
    return redis.error_reply('HOLDFASTFORMAT ' .. stored .. ' ' .. count)
  end
  local kinds = ARGV[at + 1]
  if #kinds > MOST_WRITES then return redis.error_reply('ERR more writes than a commit may have') end
  last = last or '0'
  heads[#heads + 1] = { key = KEYS[key], items = KEYS[key + 1], index = KEYS[key + 2], feed = KEYS[key + 3],
    last = last, fresh = tonumber(fresh or 0), mark = mark or '0', kinds = kinds,
    -- Write number i begins at 3 * i behind this.
    before = at - 1,
    revision = string.format('%.0f', math.max(tonumber(last) + 1, tonumber(ARGV[at]) + 1, now)) }
  at = at + 2 + 3 * #kinds
end

-- The writes of the commits whose expectations hold, and the numbers of the other commits.
local function judge(head)
  local kinds, before, keys = head.kinds, head.before, {}
  for i = 1, #kinds do keys[i] = ARGV[before + 3 * i] end
  local items = redis.call('HMGET', head.items, unpack(keys))
  local writes, count, conflicts = {}, 0, {}
  local commit, kept, holds = 0, 0, true
  for i = 1, #kinds do
    if byte(kinds, i) < SMALL_LETTERS then
      commit, kept, holds = commit + 1, count, true
    end
    if holds then
      local expected, item = ARGV[before + 3 * i + 1], items[i]
      if expected == '' then holds = not item
      else holds = item and find(item, expected, 1, true) == 1 end
      if holds then
        count = count + 1
        writes[count] = i
      else
        while count > kept do
          writes[count] = nil
          count = count - 1
        end
        conflicts[#conflicts + 1] = commit
      end
    end
  end
  return writes, conflicts
end

-- What is to be said of the writes in the feed, and how much that is; and what is to be done to items and index.
local function prepare(head, writes)
  local before, kinds, stamp = head.before, head.kinds, head.revision .. ' '
  local entry, puts, new, deleted = { 'prev', head.last }, {}, {}, {}
  local said, bytes, put = 2, 0, 0
  for _, i in ipairs(writes) do
    local arg = before + 3 * i
    local key, kind, change = ARGV[arg], byte(kinds, i), '-'
    if kind == PUT or kind == PUT_TOO then
      local value = ARGV[arg + 2]
      change = '+' .. value
      puts[put + 1], puts[put + 2] = key, stamp .. value
      put = put + 2
      if ARGV[arg + 1] == '' then
        new[#new + 1] = 0
        new[#new + 1] = key
      end
    else
      deleted[#deleted + 1] = key
    end
    entry[said + 1], entry[said + 2] = key, change
    said = said + 2
    bytes = bytes + #key + #change
  end
  return entry, bytes, puts, new, deleted
end

local function apply(head, bytes, puts, new, deleted)
  head.fresh = head.fresh + bytes
  if head.fresh > half then
    if head.mark ~= '0' then redis.call('XTRIM', head.feed, 'MINID', head.mark) end
    head.fresh, head.mark = 0, head.revision
  end
  if #puts > 0 then redis.call('HSET', head.items, unpack(puts)) end
  if #new > 0 then redis.call('ZADD', head.index, unpack(new)) end
  if #deleted > 0 then
    redis.call('HDEL', head.items, unpack(deleted))
    redis.call('ZREM', head.index, unpack(deleted))
  end
  redis.call('HSET', head.key, 'format', format, 'partitions', partitions, 'revision', head.revision,
    'fresh', string.format('%.0f', head.fresh), 'mark', head.mark)
end

local isWritten = false

-- The revision, or "!" and an error.
local function make(head, writes)
  local entry, bytes, puts, new, deleted = prepare(head, writes)
  local added = redis.pcall('XADD', head.feed, head.revision .. '-0', unpack(entry))
  if type(added) == 'table' then return '!' .. added.err end
  isWritten = true
  local isDone, trouble = pcall(apply, head, bytes, puts, new, deleted)
  return isDone and head.revision or '!' .. tostring(trouble)
end

local results = {}
for _, head in ipairs(heads) do
  local writes, conflicts = judge(head)
  local made = #writes > 0 and make(head, writes) or ''
  if not isWritten and made ~= '' then return redis.error_reply(string.sub(made, 2)) end
  results[#results + 1] = head.last
  results[#results + 1] = made
  results[#results + 1] = table.concat(conflicts, ' ')
end
return results
