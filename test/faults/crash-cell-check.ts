import { type Cell } from './crash-cell.js';
import { isSeen, nameOf, seenState } from './crash-cell-state.js';
import { type Facts } from './crash-facts.js';

/** After a restart: is all that the cell was told still true, and its last request done whole or not at all? */
export async function checkCell(cell: Cell, facts: Facts): Promise<void> {
  if (!(await checkSeen(cell, facts))) return;
  await checkHold(cell, facts);
  await checkWaiters(cell, facts);
  await checkLastRelease(cell, facts);
  await checkOutcomes(cell, facts);
  for (const [node, session] of cell.sessions) {
    const { status } = await cell.server.post(`/sessions/${session}/renew`, {});
    facts.check('sessions', status === 200, () => `${cell.id}: ${node}'s is ${status}`);
  }
}

async function checkSeen(cell: Cell, facts: Facts): Promise<boolean> {
  const locks = await cell.server.get(`/locks?resource_id=${cell.id}`);
  const references = await cell.server.get(`/refcounts?resource_id=${cell.id}`);
  const seen = seenState(locks.body, references.body);
  const possible = [cell.unanswered, { state: cell.state, done: () => {} }];
  const match = possible.find((one) => one && isSeen(one.state, seen, cell.newestToken));
  const told = () => JSON.stringify({ cell: cell.id, seen, possible, newestToken: cell.newestToken });
  facts.check('whole states', match !== undefined, told);
  for (const node of cell.state.references) facts.check('references', match !== undefined, () => node);
  cell.unanswered = undefined;
  if (!match) return false;
  cell.state = match.state;
  match.done();
  return true;
}

async function checkHold(cell: Cell, facts: Facts): Promise<void> {
  const { hold } = cell.state;
  if (!hold) return;
  const { body } = await cell.server.post('/lock', cell.asked(hold.asker));
  const problem = body['acquired'] === true ? cell.noteToken(Number(body['token'])) : JSON.stringify(body);
  facts.check(
    'holds and tokens',
    problem === undefined,
    () => `${cell.id} ${nameOf(hold.asker)}: ${problem}`,
  );
}

async function checkWaiters(cell: Cell, facts: Facts): Promise<void> {
  for (const [index, { asker }] of cell.state.queue.entries()) {
    const ticket = cell.tickets.get(nameOf(asker));
    const { body } = await cell.server.post('/lock', cell.asked(asker, { ticket }));
    const same = ticket === undefined || body['ticket'] === ticket;
    const told = () =>
      `${cell.id} ${nameOf(asker)} had ${ticket}, place ${index + 1}: ${JSON.stringify(body)}`;
    facts.check('places and tickets', same && body['position'] === index + 1, told);
    cell.tickets.set(nameOf(asker), String(body['ticket']));
  }
}

async function checkLastRelease(cell: Cell, facts: Facts): Promise<void> {
  const { lastRelease } = cell;
  if (!lastRelease) return;
  const { asker, error, nextHolder } = lastRelease;
  const { status, body } = await cell.server.post('/unlock', cell.asked(asker, { error }));
  const told = () => `${cell.id} ${JSON.stringify(lastRelease)}: ${status} ${JSON.stringify(body)}`;
  facts.check('releases said again', status === 200 && body['next_holder'] === nextHolder, told);
}

async function checkOutcomes(cell: Cell, facts: Facts): Promise<void> {
  for (const [name, asker] of cell.dismissed) {
    const { body } = await cell.server.post('/lock', cell.asked(asker));
    facts.check('dismissals', body['skip'] === true, () => `${cell.id} ${name}: ${JSON.stringify(body)}`);
    cell.dismissed.delete(name);
  }
  for (const { node, ticket } of cell.skips) {
    if (cell.holds({ node }) || cell.waits({ node })) continue;
    const { body } = await cell.server.post('/lock', cell.asked({ node }, { ticket }));
    facts.check(
      'skips by ticket',
      body['skip'] === true,
      () => `${cell.id} ${ticket}: ${JSON.stringify(body)}`,
    );
  }
}
