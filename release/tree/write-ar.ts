import { readFile, writeFile } from 'node:fs/promises';

/** A member of an ar archive: its name, at most 16 characters, and the file that has its content. */
export interface Member {
  name: string;
  from: string;
}

/** Writes an archive in the format of `ar`, which a Debian package has. Its members belong to root. */
export async function writeAr(file: string, members: Member[], modifiedAt: Date): Promise<void> {
  const seconds = String(modifiedAt.getTime() / 1000);
  const parts: Buffer[] = [Buffer.from('!<arch>\n')];
  for (const { name, from } of members) {
    const content = await readFile(from);
    const fields = [name.padEnd(16), seconds.padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)];
    parts.push(Buffer.from(`${fields.join('')}${String(content.length).padEnd(10)}\`\n`), content);
    if (content.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  await writeFile(file, parts);
}
