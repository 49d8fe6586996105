import type { TerminalId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { endTerminal } from '../../domain/terminals/end-terminal.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { TerminalParams } from './terminal-schemas.ts';

export const endTerminalRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/account/terminals/:id',
    {
      schema: {
        operationId: 'endTerminal',
        summary: 'End a terminal session',
        description: 'Podyard only. Admins can end those of all users. Its program is killed.',
        tags: ['podyard'],
        params: TerminalParams,
        response: { 204: noContent('It is about to end.') },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    },
    async ({ actor, params }, reply) => {
      await change(deps, actor, endTerminal, { id: params.id as TerminalId });
      return reply.code(204).send();
    },
  );
};
