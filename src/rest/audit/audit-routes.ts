import { Readable } from 'node:stream';
import type { Static } from 'typebox';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import type { Actor } from '../../domain/access/actor.ts';
import {
  type AuditFilter,
  DEFAULT_AUDIT_PAGE,
  exportEntries,
  listEntries,
  readAuditScope,
} from '../../domain/audit/list-entries.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { AUDIT_EXAMPLE_LINE, AuditExportQuery, AuditList, AuditQuery } from './audit-schemas.ts';

/** Pages that are read at once: each takes the database and this process a few milliseconds. */
const READS = { slots: 4, perOwner: 1 };

export const auditRoutes: RestRoute = (app, deps) => {
  const listSlots = new FairSlots(READS);
  const exportSlots = new FairSlots(READS);

  app.get('/v2/audit', {
    schema: {
      operationId: 'listAudit',
      summary: 'List the audit log',
      description:
        'Podyard only. Returns who changed what, newest first: with the change before and after, and what was refused. It ' +
        'never shows secrets, values of `env` or payloads.',
      tags: ['podyard'],
      querystring: AuditQuery,
      response: { 200: ref(AuditList) },
    },
    config: { permission: PERMISSIONS.readAudit, failures: ['badRequest', 'unprocessable'] },
    handler: async ({ actor, query }) => {
      const { limit = DEFAULT_AUDIT_PAGE, cursor, ...filter } = query;
      const scope = await toFilter(deps, actor, filter);
      const page = await listSlots.run(actor.userId, () => listEntries(deps.pool, scope, { limit, cursor }));
      await takeTurn(actor.userId); // for its JSON
      return page;
    },
  });

  app.get('/v2/audit/export', {
    schema: {
      operationId: 'exportAudit',
      summary: 'Export the audit log',
      description: 'Podyard only. Streams entries as JSON lines, oldest first.',
      tags: ['podyard'],
      querystring: AuditExportQuery,
      produces: ['application/x-ndjson'],
      response: {
        200: {
          description: 'An entry a line, as the list has it.',
          content: {
            'application/x-ndjson': {
              schema: Type.Unsafe<Readable>({ type: 'string' }),
              example: AUDIT_EXAMPLE_LINE,
            },
          },
        },
      },
    },
    config: { permission: PERMISSIONS.readAudit, failures: ['unprocessable'] },
    handler: async ({ actor, query }, reply) => {
      const lines = exportEntries(deps.pool, await toFilter(deps, actor, query), {
        reader: actor.userId,
        inSlot: (read) => exportSlots.run(actor.userId, read),
      });
      return reply
        .headers({
          'content-type': 'application/x-ndjson',
          'content-disposition': 'attachment; filename="podyard-audit.jsonl"',
        })
        .send(Readable.from(lines, { objectMode: false }));
    },
  });
};

async function toFilter(
  { pool }: Pick<RouteDeps, 'pool'>,
  actor: Actor,
  { userId, since, until, ...filter }: Static<typeof AuditExportQuery>,
): Promise<AuditFilter> {
  return {
    ...filter,
    ownerId: await readAuditScope(pool, actor, userId),
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  };
}
