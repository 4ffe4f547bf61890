--[[
Applies all writes of one commit, or none.

KEYS     1 head   2 items   3 index   4 feed: of one partition
ARGV     1 format   2 number of partitions: what the partition must have been written as
         3 the highest revision the caller has seen of this partition
         4 bytes of changes after which the older half of the feed is cut off
         then three for each write: key, expected revision or "absent", "+<value>" or "-"
Returns  the revision of the commit as a string, or false when an expectation does not hold

Promises: the revision is greater than the partition's last, than what the caller has seen and than the engine's clock in
microseconds at its last commit, so that an engine that came back without its last seconds, or a replica that never got them,
does not give out a revision again. What fails in use (no memory, a replica that is read-only) fails before the first write.
An entry of the feed names the revision before it: a reader knows whether it missed one, or saw one that is lost.
]]
local head, items, index, feed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local format, partitions, last, fresh, mark =
  unpack(redis.call('HMGET', head, 'format', 'partitions', 'revision', 'fresh', 'mark'))

if format and (format ~= ARGV[1] or partitions ~= ARGV[2]) then
  return redis.error_reply('HOLDFASTFORMAT ' .. format .. ' ' .. partitions)
end

local FIRST_WRITE = 5
local bytes = 0
local entry = { 'prev', last or '0' }
for at = FIRST_WRITE, #ARGV, 3 do
  local key, expected, change = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local item = redis.call('HGET', items, key)
  if expected == 'absent' then
    if item then return false end
  elseif not item or string.sub(item, 1, #expected + 1) ~= expected .. ' ' then
    return false
  end
  entry[#entry + 1] = key
  entry[#entry + 1] = change
  bytes = bytes + #key + #change
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local revision = string.format('%.0f', math.max(tonumber(last or 0) + 1, tonumber(ARGV[3]) + 1, now))

redis.call('XADD', feed, revision .. '-0', unpack(entry))
fresh = tonumber(fresh or 0) + bytes
if fresh > tonumber(ARGV[4]) then
  if mark then redis.call('XTRIM', feed, 'MINID', mark) end
  fresh, mark = 0, revision
end
redis.call('HSET', head, 'format', ARGV[1], 'partitions', ARGV[2], 'revision', revision,
  'fresh', string.format('%.0f', fresh), 'mark', mark or '0')

for at = FIRST_WRITE, #ARGV, 3 do
  local key, expected, change = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if change == '-' then
    redis.call('HDEL', items, key)
    redis.call('ZREM', index, key)
  else
    redis.call('HSET', items, key, revision .. ' ' .. string.sub(change, 2))
    if expected == 'absent' then redis.call('ZADD', index, 0, key) end
  end
end
return revision
