import { readFile, writeFile } from 'node:fs/promises';
import { ROOT } from '../release-facts.ts';

/** Writes release-notes.md: the section of CHANGELOG.md about a version. Throws if it has none. */
export async function writeReleaseNotes(out: string, version: string): Promise<string> {
  const changelog = await readFile(`${ROOT}/CHANGELOG.md`, 'utf8');
  await writeFile(`${out}/release-notes.md`, releaseNotes(changelog, version));
  return 'release-notes.md';
}

/** Returns the section `## <version>` of a changelog, with its heading. Throws if it is missing or empty. */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((text) => text.split('\n')[0]!.split(' ')[1] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section '## ${version}'`);
  if (section.trim().split('\n').length < 2) throw new Error(`CHANGELOG.md says nothing about ${version}`);
  return `${section.trim()}\n`;
}
