/**
 * Fails on a regular expression whose running time can grow faster than its input. Most of them see text from tenants, and one
 * that runs blocks the event loop for everyone. Tests are exempt. `check-patterns.ts FILE...` checks these files instead of all.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parse } from '@swc/core';
import { check } from 'recheck';
import { PORT_PATTERN } from '../src/domain/containers/check-ports.ts';
import { IMAGE_PATTERN } from '../src/domain/images/image-reference.ts';

/** Limits in steps of the checker's own matching, and one seed: the verdict does not depend on the machine or its load. */
const LIMITS = {
  attackLimit: 10_000_000,
  randomSeed: 1,
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
};

const named = process.argv.slice(2);
const files = named.length > 0 ? named : listSources();

/** Source and flags → where the expression is. */
const patterns = new Map<string, { source: string; flags: string; files: Set<string> }>();
for (const source of [IMAGE_PATTERN, PORT_PATTERN]) {
  patterns.set(`/${source}/`, { source, flags: '', files: new Set(['built from a text']) });
}
for (const file of files) {
  const tree = await parse(await readFile(file, 'utf8'), { syntax: 'typescript', tsx: file.endsWith('x') });
  collect(tree, file);
}

const faults: string[] = [];
for (const { source, flags, files } of patterns.values()) {
  const result = await check(source, flags, LIMITS);
  if (result.status === 'safe') continue;
  const what = result.status === 'vulnerable' ? `takes ${result.complexity.type} time` : 'could not be checked';
  faults.push(`${[...files].join(', ')}: /${source}/${flags} ${what}`);
}
for (const fault of faults) console.log(fault);
if (faults.length > 0) process.exitCode = 1;

function listSources(): string[] {
  const folders = ['src', 'console/src', 'workers'];
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...folders], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /[.](ts|tsx|js|mjs)$/.test(file) && !file.includes('.test.'));
}

function collect(node: unknown, file: string): void {
  if (typeof node !== 'object' || node === null) return;
  const { type, pattern, flags } = node as { type?: string; pattern?: string; flags?: string };
  if (type === 'RegExpLiteral') {
    const key = `/${pattern}/${flags}`;
    const known = patterns.get(key) ?? { source: pattern!, flags: flags!, files: new Set() };
    known.files.add(file);
    patterns.set(key, known);
  }
  for (const child of Object.values(node)) collect(child, file);
}
