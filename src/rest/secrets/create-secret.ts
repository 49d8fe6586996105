import { change } from '../../domain/change.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateSecretRequest, SecretResponse } from './secret-schemas.ts';
import { toNewSecret, toSecretResponse } from './secret-wire.ts';

export const createSecretRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/account/secrets',
    {
      schema: {
        operationId: 'createSecret',
        summary: 'Create a secret',
        description: 'Workers and pods that wait for a secret of this name can then start. 409 if the name is taken.',
        tags: ['podyard'],
        body: ref(CreateSecretRequest),
        response: { 201: ref(SecretResponse) },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['conflict'] },
    },
    async (request, reply) => {
      const record = await change(deps, request.actor, createSecret, toNewSecret(request.body));
      const uses = await listSecretUses(deps.pool, request.actor.userId, record.name);
      return reply.code(201).send(toSecretResponse(record, uses.get(record.name)));
    },
  );
};
