import { readPublicKeys } from '../../domain/access/public-keys.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import type { SshKeyWire } from './ssh-key-wire.ts';

export const listSshKeysRoute =
  (wire: SshKeyWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/account/ssh-keys',
      {
        schema: {
          operationId: 'listSshKeys',
          summary: 'List SSH public keys',
          tags: ['podyard'],
          response: { 200: ref(wire.List) },
        },
        config: { permission: PERMISSIONS.readAccount },
      },
      async (request) => wire.toList(await readPublicKeys(deps.pool, request.actor.userId)),
    );
  };
