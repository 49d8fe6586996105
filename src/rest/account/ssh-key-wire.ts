import type { TSchema } from 'typebox';
import type { Wire } from '../shared/wire.ts';
import { SSH_KEY, SshKeyList, SshKeyListWithBoth } from './account-schemas.ts';

/** How a revision lists SSH keys; either spelling is taken by both. */
export interface SshKeyWire extends Wire {
  readonly List: TSchema;
  toList(publicKeys: string): { sshKeys?: string[]; keys: string[] };
}

/** Splits the stored text into keys. Text set through GraphQL may contain blank lines and CRLF. */
function toSshKeys(publicKeys: string): string[] {
  const lines = publicKeys.split(/\r?\n/).map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/** Joins keys into the text that pods receive, one per line. */
export function fromSshKeys(sshKeys: readonly string[]): string {
  return sshKeys.map((key) => `${key}\n`).join('');
}

export const SSH_KEY_WIRE_2026_07: SshKeyWire = {
  schemas: [[SshKeyListWithBoth, { sshKeys: [SSH_KEY], keys: [SSH_KEY] }]],
  List: SshKeyListWithBoth,
  toList: (publicKeys) => {
    const keys = toSshKeys(publicKeys);
    return { sshKeys: keys, keys };
  },
};

export const SSH_KEY_WIRE_2026_08: SshKeyWire = {
  schemas: [[SshKeyList, { keys: [SSH_KEY] }]],
  List: SshKeyList,
  toList: (publicKeys) => ({ keys: toSshKeys(publicKeys) }),
};
