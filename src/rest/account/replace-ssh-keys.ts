import { updatePublicKeys } from '../../domain/access/public-keys.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ReplaceSshKeysRequest } from './account-schemas.ts';
import { fromSshKeys, type SshKeyWire } from './ssh-key-wire.ts';

export const replaceSshKeysRoute =
  (wire: SshKeyWire): RestRoute =>
  (app, deps) => {
    app.put(
      '/v2/account/ssh-keys',
      {
        schema: {
          operationId: 'replaceSshKeys',
          summary: 'Replace the SSH public keys',
          description: 'Replaces all keys. Pods that start from now on receive them; running pods keep theirs.',
          tags: ['podyard'],
          body: ref(ReplaceSshKeysRequest),
          response: { 200: ref(wire.List) },
        },
        config: { permission: PERMISSIONS.writeAccount },
      },
      async (request) => {
        const publicKeys = fromSshKeys(request.body.sshKeys ?? request.body.keys ?? []);
        await change(deps, request.actor, updatePublicKeys, { publicKeys });
        return wire.toList(publicKeys);
      },
    );
  };
