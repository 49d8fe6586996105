/**
 * Prints the size of the program: lines, files, functions and folders of `src/` and `console/src`, without tests. Large files and
 * folders are named, so that they are seen before they grow. `--all` names every one instead of the first few.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parse } from '@swc/core';

const MAX_FILE_LINES = 350;
const MAX_FOLDER_FILES = 24;
const MAX_NAMED = process.argv.includes('--all') ? Number.POSITIVE_INFINITY : 5;
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src', 'console/src'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /[.]tsx?$/.test(file) && !/[.]test[.]tsx?$/.test(file));

const lines = new Map<string, number>();
const lengths: number[] = [];
for (const file of files) {
  const text = Buffer.from((await readFile(file, 'utf8')).replace(/^(#!.*)?/, ';')); // a tree begins at its first token, not a comment
  lines.set(file, countLines(text));
  const tree = await parse(text.toString(), { syntax: 'typescript', tsx: file.endsWith('x') });
  collectFunctions(tree, text, tree.span.start);
}

for (const root of ['src', 'console/src']) {
  const own = files.filter((file) => file.startsWith(`${root}/`));
  const total = own.reduce((sum, file) => sum + lines.get(file)!, 0);
  console.log(`${root}: ${total} lines in ${own.length} files`);
}
lengths.sort((one, other) => one - other);
console.log(`functions: ${lengths.length}, median ${lengths[lengths.length >> 1]} lines`);
nameLargest(`files above ${MAX_FILE_LINES} lines`, [...lines], MAX_FILE_LINES);
nameLargest(`folders of more than ${MAX_FOLDER_FILES} files`, countBy(files.map(dirname)), MAX_FOLDER_FILES);

function countLines(text: Uint8Array): number {
  return text.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0);
}

/** Adds the length in lines of every function's body. swc counts bytes, from `start`. */
function collectFunctions(node: unknown, text: Buffer, start: number): void {
  if (typeof node !== 'object' || node === null) return;
  const { type, span, ...rest } = node as { type?: string; span?: { start: number; end: number } };
  if (type === 'FunctionBody') lengths.push(countLines(text.subarray(span!.start - start, span!.end - start)) + 1);
  for (const child of Object.values(rest)) collectFunctions(child, text, start);
}

function countBy(names: string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts];
}

function nameLargest(title: string, counts: [string, number][], limit: number): void {
  const over = counts.filter(([, count]) => count > limit).sort(([, one], [, other]) => other - one);
  const named = over.slice(0, MAX_NAMED).map(([name, count]) => `${name} (${count})`);
  const rest = over.length > named.length ? `, and ${over.length - named.length} more` : '';
  console.log(`${title}: ${over.length}${over.length > 0 ? `: ${named.join(', ')}${rest}` : ''}`);
}
