import type { TSchema } from 'typebox';
import type { Wire } from '../shared/wire.ts';

/** How a revision lists SSH keys; either spelling is taken by both. */
export interface SshKeyWire extends Wire {
  readonly List: TSchema;
  toList(publicKeys: string): unknown;
}

/** Splits the stored text into keys. Text set through GraphQL may contain blank lines and CRLF. */
export function toSshKeys(publicKeys: string): string[] {
  const lines = publicKeys.split(/\r?\n/).map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/** Joins keys into the text that pods receive, one per line. */
export function fromSshKeys(sshKeys: readonly string[]): string {
  return sshKeys.map((key) => `${key}\n`).join('');
}
