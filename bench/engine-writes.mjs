// Goal 5: how often the engine writes when a thousand nodes arrive at one key within a second, at three instances. And of goal 6: how
// often while ten thousand sessions idle. Both are counted by the engine itself.
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { difference, ENGINES, installEngines } from './engines/engines.mjs';
import { startInstances } from './engines/holdfast.mjs';
import { ratio, table, thousands } from './support.mjs';

const INSTANCES = 3;
const NODES = 1000;
const ARRIVE_WITHIN_MS = 1000;
const MOST_WRITES = 50;
const SESSIONS = 10_000;
const SESSION_TTL_MS = 60_000;
/** Each session is renewed once in this: three times in its time to live, as `LockClient` does. */
const RENEW_WITHIN_MS = SESSION_TTL_MS / 3;
const MOST_WRITES_A_SECOND = 10;
const CREATED_AT_ONCE = 64;

/** When the first to come is done: after everybody has arrived, or in the middle of it. */
const RUNS = [
  { title: 'the work outlasts the second', workMs: 1200 },
  { title: 'the work is done in the middle', workMs: 500 },
];

const dispatcher = new Agent({ connections: null, bodyTimeout: 0, headersTimeout: 0 });

async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await request(url, { method: 'POST', body: JSON.stringify(body), headers, dispatcher });
  const json = await answer.body.json();
  if (answer.statusCode !== 200) throw new Error(`${url}: ${JSON.stringify(json)}`);
  return json;
}

/** Asks, waits for its turn or the news, and does the work if it is let through. */
async function node(number, url, key, workMs, told) {
  await delay(Math.random() * ARRIVE_WITHIN_MS);
  const asker = { ...key, node_id: `node-${number}` };
  const { acquired, skip, token } = await post(`${url}/lock`, { ...asker, wait_ms: 60_000 });
  if (skip) return void told.push(performance.now());
  if (!acquired) throw new Error('neither acquired nor skipped');
  await delay(workMs);
  told.doneAt = performance.now();
  await post(`${url}/unlock`, { ...asker, token });
}

async function arrivals(engine, urls, run, workMs) {
  const key = { type: 'pull', resource_id: `sha256:${run}` };
  const before = await engine.stats();
  const told = [];
  await Promise.all(
    Array.from({ length: NODES }, (_, number) => node(number, urls[number % INSTANCES], key, workMs, told)),
  );
  const counted = difference(before, await engine.stats());
  const { count } = JSON.parse(
    await (await request(`${urls[0]}/refcounts?resource_id=${key.resource_id}`, { dispatcher })).body.text(),
  );
  if (told.length !== NODES - 1 || count !== NODES)
    throw new Error(`${told.length} skipped, ${count} counted`);
  return { ...counted, lastMs: Math.max(...told) - told.doneAt };
}

async function openSessions(urls) {
  const sessions = [];
  const opener = async (first) => {
    for (let number = first; number < SESSIONS; number += CREATED_AT_ONCE) {
      const url = urls[number % INSTANCES];
      const body = { node_id: `node-${number}`, ttl_ms: SESSION_TTL_MS };
      sessions.push(`${url}/sessions/${(await post(`${url}/sessions`, body)).session_id}`);
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, (_, first) => opener(first)));
  return sessions;
}

async function idle(engine, urls) {
  const sessions = await openSessions(urls);
  const begin = performance.now();
  const before = await engine.stats();
  const renewals = sessions.map(async (url, number) => {
    await delay((number / SESSIONS) * RENEW_WITHIN_MS);
    await post(`${url}/renew`, {});
  });
  await Promise.all(renewals);
  const seconds = (performance.now() - begin) / 1000;
  return { seconds, ...difference(before, await engine.stats()) };
}

installEngines();
const crowds = [];
const idlers = [];
for (const startEngine of ENGINES) {
  const engine = await startEngine();
  const instances = await startInstances(INSTANCES, { STORE_URL: engine.url });
  await arrivals(engine, instances.urls, 'warm-up', 0);
  for (const [run, { title, workMs }] of RUNS.entries()) {
    const { commits, items, asked, lastMs } = await arrivals(engine, instances.urls, run, workMs);
    crowds.push([
      engine.name,
      title,
      commits,
      ratio(commits / MOST_WRITES),
      items,
      asked,
      Math.round(lastMs),
    ]);
  }
  const { commits, seconds } = await idle(engine, instances.urls);
  const aSecond = commits / seconds;
  idlers.push([
    engine.name,
    commits,
    seconds.toFixed(1),
    ratio(aSecond),
    ratio(aSecond / MOST_WRITES_A_SECOND),
  ]);
  await instances.stop();
  await engine.destroy();
}
await dispatcher.destroy();

table(
  `${thousands(NODES)} nodes ask for one pull within a second, at ${INSTANCES} instances; all are counted as references`,
  ['engine', '', 'commits', `of ${MOST_WRITES}`, 'items written', 'calls', 'last one told after ms'],
  crowds,
);
table(
  `${thousands(SESSIONS)} idle sessions at ${INSTANCES} instances, each renewed three times in its time to live`,
  ['engine', 'commits', 'in seconds', 'a second', `of ${MOST_WRITES_A_SECOND}`],
  idlers,
);
console.log(
  `\nGoal 5: at most ${MOST_WRITES} commits in all, heartbeats included. Goal 6: at most ${MOST_WRITES_A_SECOND} a second.`,
);
