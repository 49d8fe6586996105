import { readFile } from 'node:fs/promises';
import { type ReleaseFacts, ROOT } from '../release-facts.ts';
import { fileEntry } from '../tree/entry.ts';
import { writeTar } from '../tree/write-tar.ts';

const CHART = 'deploy/helm/podyard/';

/** Packs the Helm chart as `helm package` does, and returns its name. Throws if its version is not that of the release. */
export async function writeChart(out: string, facts: ReleaseFacts): Promise<string> {
  const chart = await readFile(`${ROOT}/${CHART}Chart.yaml`, 'utf8');
  for (const field of ['version', 'appVersion']) {
    const found = new RegExp(`^${field}: "?([^"\\s]+)`, 'm').exec(chart)?.[1];
    if (found === facts.version) continue;
    throw new Error(`${CHART}Chart.yaml: ${field} is ${found}, but package.json has the version ${facts.version}`);
  }
  const name = `podyard-chart-${facts.version}.tgz`;
  const files = facts.files.filter((file) => file.startsWith(CHART));
  const entries = files.map((file) => fileEntry(`podyard/${file.slice(CHART.length)}`, `${ROOT}/${file}`));
  await writeTar(`${out}/${name}`, entries, facts.time);
  return name;
}
