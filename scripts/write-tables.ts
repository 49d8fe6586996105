import { readFile, writeFile } from 'node:fs/promises';
import { isMap, isScalar, type Node, type Pair, parseDocument, type Scalar } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };
import { listSettings, longFlag, type Setting, type SettingTable } from '../src/config/setting.ts';
import { SETTINGS } from '../src/config/settings.ts';

/**
 * Writes the tables of settings in docs/configuration.md and the chart values that are settings from
 * `src/config/settings.ts`, the table of values in the chart's README from values.yaml, and in deploy/compose.yaml the
 * settings that it passes on, and the version in the names of a release's files. With `--check` it writes nothing and
 * fails when one is out of date, or when a setting names a chart value that is absent or has another default.
 */
const ROOT = new URL('../', import.meta.url);
const CHART = 'deploy/helm/podyard';
const COMPOSE = 'deploy/compose.yaml';
/** Files that name the files of a release. */
const NAMING_THE_VERSION = [
  COMPOSE,
  `${CHART}/README.md`,
  ...['install', 'kubernetes', 'cluster-walk', 'move', 'upgrade'].map((page) => `docs/guide/${page}.md`),
];
const ARTIFACT_VERSION = /(?<=\bpodyard[-_:]|\bpodyard-chart-|\breleases\/download\/v)\d+\.\d+\.\d+/g;
const values = parseDocument(await readFile(new URL(`${CHART}/values.yaml`, ROOT), 'utf8'));
const { kubernetes, ...general } = SETTINGS;

for (const problem of listSettings(SETTINGS).flatMap(problemsOfChartValue)) fail(problem);
await rewrite('docs/configuration.md', /^\| Flag .*(?:\n\|.*)*/m, settingsTable(general));
await rewrite('docs/configuration.md', /^\| Variable .*(?:\n\|.*)*/m, variablesTable(kubernetes));
await rewrite(
  `${CHART}/README.md`,
  between('<!-- values: made of values.yaml by scripts/write-tables.ts -->', '<!-- end of values -->'),
  `\n\n${tableOf(['Value', 'Default', 'Meaning'], rowsOf(values.contents as Node, ''))}\n\n`,
);
await rewrite(
  `${CHART}/templates/_settings.tpl`,
  between('{{- /* Values that are settings: made by scripts/write-tables.ts. */ -}}', '{{- /* End of these. */ -}}'),
  `\n{{- range $name, $value := dict\n${listSettings(SETTINGS).flatMap(templateLine).join('\n')}\n-}}\n{{- if $value }}{{ $_ := set $settings $name $value }}{{ end -}}\n{{- end -}}\n`,
);

await describeValues();
await rewrite(
  COMPOSE,
  between('# Passed on if they are set: made by scripts/write-tables.ts.', '      # End of these.'),
  `\n${(await passedOn()).map((name) => `      - ${name}\n`).join('')}`,
);
for (const file of NAMING_THE_VERSION) await rewrite(file, ARTIFACT_VERSION, packageJson.version);
await rewrite(`${CHART}/Chart.yaml`, /(?<=^(?:version|appVersion): )\S+/gm, packageJson.version);

/** The text between two lines, without them. */
function between(begin: string, end: string): RegExp {
  const [head, tail] = [begin, end].map((line) => line.replace(/[*.{}]/g, '\\$&'));
  return new RegExp(`(?<=${head})[^]*(?=${tail})`);
}

async function rewrite(file: string, part: RegExp, made: string): Promise<void> {
  const before = await readFile(new URL(file, ROOT), 'utf8');
  if (!part.test(before)) throw new Error(`${file} lacks ${part}`);
  const after = before.replace(part, () => made);
  if (before === after) return;
  if (!process.argv.includes('--check')) await writeFile(new URL(file, ROOT), after);
  else fail(`${file} is not up to date: run \`node scripts/write-tables.ts\` and commit it.`);
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}

function settingsTable(table: SettingTable): string {
  const rows = listSettings(table).map((setting) => {
    const flag = longFlag(setting);
    return [flag === null ? '' : code(flag), variableOf(setting), ...meaningOf(setting)];
  });
  return tableOf(['Flag', 'Variable', 'Default', 'Meaning'], rows);
}

function variablesTable(table: SettingTable): string {
  const rows = listSettings(table).map((setting) => [variableOf(setting), ...meaningOf(setting)]);
  return tableOf(['Variable', 'Default', 'Meaning'], rows);
}

function variableOf({ variable, fallbackVariable, flag, switchesTo }: Setting<unknown>): string {
  const own = code(switchesTo === undefined || flag === undefined ? variable : `${variable}=${switchesTo}`);
  return fallbackVariable === undefined ? own : `${own}, ${code(fallbackVariable)}`;
}

function meaningOf({ shownDefault, page }: Setting<unknown>): [standard: string, meaning: string] {
  return [/^\S*[<:/]\S*$/.test(shownDefault) ? code(shownDefault) : shownDefault, page];
}

function code(text: string): string {
  return `\`${text}\``;
}

interface Schema {
  properties?: Record<string, Schema>;
  description?: string;
}

/** Gives each value its meaning in the schema, which editors show. Fails for a value without one, or that the schema lacks. */
async function describeValues(): Promise<void> {
  const file = `${CHART}/values.schema.json`;
  const before = await readFile(new URL(file, ROOT), 'utf8');
  const schema = JSON.parse(before) as Schema;
  for (const [name, , meaning] of rowsOf(values.contents as Node, '')) {
    const path = name!.slice(1, -1).split('.');
    const found = path.reduce<Schema | undefined>(
      (node, key) => (node?.properties ? node.properties[key] : node),
      schema,
    );
    if (found === undefined) fail(`${file} lacks ${name}`);
    else if (!meaning) fail(`values.yaml does not say what ${name} means`);
    else if (path.length === depthOf(schema, path)) found.description = meaning;
  }
  const after = JSON.stringify(schema, null, 2);
  if (after === JSON.stringify(JSON.parse(before), null, 2)) return;
  if (!process.argv.includes('--check')) await writeFile(new URL(file, ROOT), `${after}\n`);
  else fail(`${file} is not up to date: run \`node scripts/write-tables.ts && npm run fix\` and commit it.`);
}

/** How many names of a path the schema knows: it leaves the fields of Kubernetes' own objects to the cluster. */
function depthOf(schema: Schema, [name, ...rest]: string[]): number {
  const inner = name === undefined ? undefined : schema.properties?.[name];
  return inner === undefined ? 0 : 1 + depthOf(inner, rest);
}

/** The variables of a server with a container engine, except those that the file sets itself. */
async function passedOn(): Promise<string[]> {
  const { imagesFiles: _, allowInsecureProcesses: __, ...used } = general;
  const file = await readFile(new URL(COMPOSE, ROOT), 'utf8');
  const names = listSettings(used).map(({ variable, fallbackVariable }) => fallbackVariable ?? variable);
  return names.filter((name) => !name.includes('KUBERNETES') && !file.includes(`- ${name}=`));
}

function problemsOfChartValue({ variable, chart, shownDefault }: Setting<unknown>): string[] {
  if (chart === undefined) return [];
  const node = values.getIn(chart.value.split('.'));
  const place = `${variable}: values.yaml has ${chart.value}`;
  if (node === undefined) return [`${variable}: values.yaml lacks ${chart.value}`];
  const isOther = ['text', 'integer'].includes(chart.as) && node !== '' && String(node) !== shownDefault;
  return isOther ? [`${place}: ${node}, but the default is ${shownDefault}`] : [];
}

function templateLine({ variable, chart }: Setting<unknown>): string[] {
  if (chart === undefined || chart.as === 'template') return [];
  const value = `.Values.${chart.value}`;
  const text = {
    text: `(toString (default "" ${value}))`,
    integer: `(toString (int ${value}))`,
    switch: `(ternary "true" "" ${value})`,
    list: `(join "," ${value})`,
    pairs: `(include "podyard.pairs" ${value})`,
  }[chart.as];
  return [`  "${variable}" ${text}`];
}

function rowsOf(map: Node | null | undefined, path: string): string[][] {
  if (!isMap(map)) return [];
  return (map.items as Pair<Scalar<string>, Node | null>[]).flatMap((pair, i) => {
    const name = `${path}${pair.key.value}`;
    const { value } = pair;
    const inner = rowsOf(value, `${name}.`);
    if (inner.length > 0) return inner;
    const standard = isScalar(value) ? JSON.stringify(value.value) : JSON.stringify(value?.toJSON());
    return [[code(name), code(standard!), commentOf(pair, i === 0 ? map.commentBefore : null)]];
  });
}

/** The comment directly above a value, without a blank line between; YAML keeps that of a map's first value with the map. */
function commentOf({ key }: Pair<Scalar<string>>, ofMap: string | null | undefined): string {
  const comment = key.commentBefore ?? ofMap ?? '';
  return comment.split('\n\n').at(-1)!.replaceAll('\n', ' ').trim();
}

function tableOf(head: string[], rows: string[][]): string {
  const all = [head, ...rows.map((row) => row.map((text) => text.replaceAll('|', '\\|')))];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...all.slice(1).map(line)].join('\n');
}
