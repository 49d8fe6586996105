/**
 * The peer of the REST API: Fastify, a pool and one statement per request on the same table, without keys, validation or
 * releases. `node bench/api/bare.ts --database-url URL`
 */
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import pg from 'pg';

const { values } = parseArgs({ options: { 'database-url': { type: 'string' } } });
/** As many connections as Podyard's pool. */
const pool = new pg.Pool({ connectionString: values['database-url'], max: 16 });
const app = Fastify();

app.get<{ Params: { id: string } }>('/v2/serverless/:id', async (request, reply) => {
  const { rows } = await pool.query('select * from endpoints where id = $1', [request.params.id]);
  return rows[0] ?? reply.code(404).send();
});

app.patch<{ Params: { id: string }; Body: { workers: { max: number }; timeout: number } }>(
  '/v2/serverless/:id',
  async (request, reply) => {
    const { workers, timeout } = request.body;
    const { rows } = await pool.query(
      'update endpoints set workers_max = $2, timeout_ms = $3 where id = $1 returning *',
      [request.params.id, workers.max, timeout],
    );
    return rows[0] ?? reply.code(404).send();
  },
);

await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`ready at http://127.0.0.1:${(app.server.address() as AddressInfo).port}\n`);
process.once('SIGTERM', () => void app.close().then(() => pool.end()));
