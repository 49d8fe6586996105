/** A text that came through GraphQL may have blank lines and ends of other systems. */
export function toSshKeyList(publicKeys: string): { sshKeys: string[] } {
  const lines = publicKeys.split(/\r?\n/).map((line) => line.trim());
  return { sshKeys: lines.filter((line) => line !== '') };
}

/** The text that pods get: a key a line. */
export function fromSshKeys(sshKeys: readonly string[]): string {
  return sshKeys.map((key) => `${key}\n`).join('');
}
