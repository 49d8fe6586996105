import { SSH_KEY } from './account-examples.ts';
import { SshKeyListWithBoth } from './account-schemas.ts';
import { type SshKeyWire, toSshKeys } from './ssh-key-wire.ts';

export const SSH_KEY_WIRE_2026_07: SshKeyWire = {
  schemas: [SshKeyListWithBoth],
  examples: { SshKeyList: { sshKeys: [SSH_KEY], keys: [SSH_KEY] } },
  List: SshKeyListWithBoth,
  toList: (publicKeys) => {
    const keys = toSshKeys(publicKeys);
    return { sshKeys: keys, keys };
  },
};
