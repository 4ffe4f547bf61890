--[[
One page of a partition's items, in the order of their keys' bytes.

KEYS     1 index   2 items
ARGV     1 from   2 to: bounds as ZRANGEBYLEX takes them   3 the most items
Returns  { key, item, key, item, … }; fewer than asked for: this was the last page

Promises: a page is of one moment. An item that is there throughout a walk from page to page is seen exactly once, whatever
else changes, and whichever server answers.
]]
local keys = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
if #keys == 0 then return keys end
local values = redis.call('HMGET', KEYS[2], unpack(keys))
local page = {}
for at, key in ipairs(keys) do
  page[#page + 1] = key
  page[#page + 1] = values[at]
end
return page
