import { readFile, writeFile } from 'node:fs/promises';
import { isMap, isScalar, type Node, type Pair, parseDocument, type Scalar } from 'yaml';

/**
 * Writes the table of values in the chart's README from values.yaml: each value with its default and the comment above it.
 * With `--check` it writes nothing and fails when the table is out of date.
 */
const CHART = new URL('../deploy/helm/podyard/', import.meta.url);
const README = new URL('README.md', CHART);
const [BEGIN, END] = [
  '<!-- values: made of values.yaml by scripts/write-chart-readme.ts -->',
  '<!-- end of values -->',
];

type Row = [name: string, standard: string, meaning: string];

function rowsOf(map: Node | null | undefined, path: string): Row[] {
  if (!isMap(map)) return [];
  return (map.items as Pair<Scalar<string>, Node | null>[]).flatMap((pair, i) => {
    const name = `${path}${pair.key.value}`;
    const { value } = pair;
    const inner = rowsOf(value, `${name}.`);
    if (inner.length > 0) return inner;
    const standard = isScalar(value) ? JSON.stringify(value.value) : JSON.stringify(value?.toJSON());
    return [[`\`${name}\``, `\`${standard}\``, meaningOf(pair, i === 0 ? map.commentBefore : null)]] as Row[];
  });
}

/** The comment directly above a value, without a blank line between; YAML keeps that of a map's first value with the map. */
function meaningOf({ key }: Pair<Scalar<string>>, ofMap: string | null | undefined): string {
  const comment = key.commentBefore ?? ofMap ?? '';
  return comment.split('\n\n').at(-1)!.replaceAll('\n', ' ').trim();
}

function tableOf(rows: Row[]): string {
  const all: Row[] = [['Value', 'Default', 'Meaning'], ...rows.map((row) => row.map(escaped) as Row)];
  const widths = [0, 1, 2].map((i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(all[0]!), line(widths.map((width) => '-'.repeat(width))), ...all.slice(1).map(line)].join('\n');
}

const escaped = (text: string) => text.replaceAll('|', '\\|');

const values = parseDocument(await readFile(new URL('values.yaml', CHART), 'utf8'));
const before = await readFile(README, 'utf8');
const [head, tail] = [before.indexOf(BEGIN), before.indexOf(END)];
if (head < 0 || tail < head) throw new Error(`README.md lacks ${BEGIN} and ${END}`);
const table = tableOf(rowsOf(values.contents as Node, ''));
const text = `${before.slice(0, head)}${BEGIN}\n\n${table}\n\n${before.slice(tail)}`;
if (!process.argv.includes('--check')) {
  await writeFile(README, text);
} else if (before !== text) {
  console.error(
    'deploy/helm/podyard/README.md is not up to date: run `node scripts/write-chart-readme.ts` and commit it.',
  );
  process.exitCode = 1;
}
