import { readPublicKeys } from '../../domain/access/public-keys.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SshKeyList } from './account-schemas.ts';
import { toSshKeyList } from './ssh-key-wire.ts';

export const listSshKeysRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/ssh-keys',
    {
      schema: {
        operationId: 'listSshKeys',
        summary: 'List SSH public keys',
        tags: ['podyard'],
        response: { 200: ref(SshKeyList) },
      },
      config: { permission: PERMISSIONS.readAccount },
    },
    async (request) => toSshKeyList(await readPublicKeys(deps.pool, request.actor.userId)),
  );
};
