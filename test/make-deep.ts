import { writeFile } from 'node:fs/promises';
import { Folder } from '../src/runtimes/directories/folder.ts';

/** As a program in a pod does it: one directory in the other, until no path is long enough for the last, which has a file. */
export async function makeDeep(path: string, levels: number): Promise<void> {
  let folder = await Folder.open(path);
  for (let level = 0; level < levels; level++) {
    const next = await folder.make('d');
    await folder.close();
    folder = next;
  }
  await writeFile(folder.at('file'), 'x');
  await folder.close();
}
