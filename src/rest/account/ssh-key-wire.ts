/** Splits the stored text into keys. Text set through GraphQL may contain blank lines and CRLF. */
export function toSshKeyList(publicKeys: string): { sshKeys: string[]; keys: string[] } {
  const lines = publicKeys.split(/\r?\n/).map((line) => line.trim());
  const keys = lines.filter((line) => line !== '');
  return { sshKeys: keys, keys };
}

/** Joins keys into the text that pods receive, one per line. */
export function fromSshKeys(sshKeys: readonly string[]): string {
  return sshKeys.map((key) => `${key}\n`).join('');
}
