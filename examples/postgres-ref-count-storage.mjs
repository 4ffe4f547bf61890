// A storage of reference counts of your own: PostgreSQL, with `pg`. Pass it to `new RefCountManager(…)` on the content side, or to
// `HoldfastModule.forRoot({ refCountStorage })`. The contract suite proves it (test/content/postgres-ref-count-storage.spec.ts).

// One row a reference, so that adding and removing are single statements: atomic, however many processes share the table. Names
// are bytes, because text in PostgreSQL cannot hold every character a name may have.
const TABLE = `
  CREATE TABLE IF NOT EXISTS holdfast_references (
    resource_id bytea NOT NULL,
    node_id bytea NOT NULL,
    since_ms bigint,
    came bigserial NOT NULL,
    PRIMARY KEY (resource_id, node_id)
  );
  CREATE INDEX IF NOT EXISTS holdfast_references_by_node ON holdfast_references (node_id)`;

const ADD = `
  INSERT INTO holdfast_references (resource_id, node_id, since_ms)
  SELECT $1, node.node_id, node.since_ms
  FROM unnest($2::bytea[], $3::bigint[]) WITH ORDINALITY AS node (node_id, since_ms, n) ORDER BY node.n
  ON CONFLICT DO NOTHING`;

/** @implements {import('holdfast/content').RefCountStorage} */
export class PostgresRefCountStorage {
  #pool;

  /** @param {import('pg').Pool} pool */
  constructor(pool) {
    this.#pool = pool;
  }

  /** Makes the table. Once, before anything else; two processes may do it at the same time. */
  async prepare() {
    await this.#inTransaction(async (client) => {
      await client.query(`SELECT pg_advisory_xact_lock(hashtext('holdfast_references'))`);
      await client.query(TABLE);
    });
  }

  async getRefCount(resourceId) {
    const { rows } = await this.#pool.query(
      'SELECT node_id, since_ms FROM holdfast_references WHERE resource_id = $1 ORDER BY came',
      [bytes(resourceId)],
    );
    if (rows.length === 0) return undefined;
    return { count: rows.length, nodes: rows.map(nodeOf) };
  }

  async setRefCount(resourceId, { nodes }) {
    const values = [bytes(resourceId), ...columns(nodes)];
    await this.#inTransaction(async (client) => {
      await client.query('DELETE FROM holdfast_references WHERE resource_id = $1', values.slice(0, 1));
      await client.query(ADD, values);
    });
  }

  async deleteRefCount(resourceId) {
    await this.#pool.query('DELETE FROM holdfast_references WHERE resource_id = $1', [bytes(resourceId)]);
  }

  async addNode(resourceId, node) {
    await this.#pool.query(ADD, [bytes(resourceId), ...columns([node])]);
  }

  async removeNode(resourceId, nodeId) {
    const { rowCount } = await this.#pool.query(
      'DELETE FROM holdfast_references WHERE resource_id = $1 AND node_id = $2',
      [bytes(resourceId), bytes(nodeId)],
    );
    return rowCount > 0;
  }

  async listByNode(nodeId) {
    const { rows } = await this.#pool.query(
      'SELECT resource_id FROM holdfast_references WHERE node_id = $1 ORDER BY came',
      [bytes(nodeId)],
    );
    return rows.map((row) => row.resource_id.toString('utf8'));
  }

  async #inTransaction(task) {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      await task(client);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }
}

function bytes(name) {
  return Buffer.from(name, 'utf8');
}

/** Taken at once: what was passed belongs to the caller, who may change it. */
function columns(nodes) {
  return [nodes.map(({ nodeId }) => bytes(nodeId)), nodes.map(({ sinceMs }) => sinceMs ?? null)];
}

function nodeOf({ node_id: id, since_ms: since }) {
  return { nodeId: id.toString('utf8'), ...(since !== null && { sinceMs: Number(since) }) };
}
