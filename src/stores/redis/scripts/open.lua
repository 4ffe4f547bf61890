--[[
Says how this partition was written, and marks it as ours if nobody has written it yet.

KEYS     1 head
ARGV     1 format   2 number of partitions: for a partition that is new
Returns  { format, number of partitions } as they are stored

Promises: of many callers at once one marks; all are told the same. Never changes a mark.
]]
if redis.call('HEXISTS', KEYS[1], 'format') == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'partitions', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions')
