import { checkOperator } from '../../domain/access/check-operator.ts';
import { listSessions } from '../../domain/terminals/terminal-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TerminalList, TerminalListQuery } from './terminal-schemas.ts';
import { toTerminalSession } from './terminal-wire.ts';

const DEFAULT_LIMIT = 100;

export const listTerminalsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/terminals',
    {
      schema: {
        operationId: 'listTerminals',
        summary: 'List terminal sessions',
        description: 'Podyard only. Who ran a program in a pod or worker, from where and for how long.',
        tags: ['podyard'],
        querystring: TerminalListQuery,
        response: { 200: ref(TerminalList) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['unprocessable'] },
    },
    async ({ actor, query }) => {
      const isOfAll = query.user === 'all';
      if (isOfAll) await checkOperator(deps.pool, actor.userId);
      const sessions = await listSessions(deps.pool, isOfAll ? null : actor.userId, query.limit ?? DEFAULT_LIMIT);
      return { terminals: sessions.map(toTerminalSession) };
    },
  );
};
