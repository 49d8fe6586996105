import { SSH_KEY } from './account-examples.ts';
import { SshKeyList } from './account-schemas.ts';
import { type SshKeyWire, toSshKeys } from './ssh-key-wire.ts';

export const SSH_KEY_WIRE_2026_08: SshKeyWire = {
  schemas: [SshKeyList],
  examples: { SshKeyList: { keys: [SSH_KEY] } },
  List: SshKeyList,
  toList: (publicKeys) => ({ keys: toSshKeys(publicKeys) }),
};
