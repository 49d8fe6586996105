import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { maintainerOf, namesPlaces, withPublishedNames } from '../../release/published-names.ts';
import { ROOT, readReleaseFacts } from '../../release/release-facts.ts';
import { EVERYTHING, MINIMUM, renderText } from '../helm/chart.ts';
import { findHelm, noHelm } from '../helm/helm-programs.ts';
import { builtArtifacts } from './built.ts';

const run = promisify(execFile);
const PLACES = { repository: 'https://code.example.com/team/podyard', registry: 'registry.example.com:5000/team' };
const fill = async (file: string) => withPublishedNames(await readFile(`${ROOT}/${file}`, 'utf8'), PLACES);

test('a release that knows its places has no placeholder in any text, and the rest is as in the checkout', async () => {
  const pages = readReleaseFacts().files.filter((file) => /^(README|docs\/guide\/.*|deploy\/helm\/.*)\.md$/.test(file));
  const before = await Promise.all(pages.map((file) => readFile(`${ROOT}/${file}`, 'utf8')));
  const after = await Promise.all(pages.map(fill));
  expect(pages.filter((file) => !namesPlaces(file))).toEqual([]);
  expect(before.filter((text) => text.includes('<this repository>')).length).toBeGreaterThan(2);
  expect(after.filter((text) => text.includes('<this repository>'))).toEqual([]);
  expect(after.map((text) => text.replaceAll(PLACES.repository, '<this repository>'))).toEqual(before);
});

test('its compose.yaml and its chart pull the server from its registry, and PostgreSQL from where it was', async () => {
  const { services } = parse(await fill('deploy/compose.yaml'));
  const { version } = readReleaseFacts();
  expect(services.server.image).toBe(`\${PODYARD_REGISTRY:-${PLACES.registry}}/\${PODYARD_IMAGE:-podyard:${version}}`);
  expect(services.database.image).toMatch(
    /^\$\{PODYARD_REGISTRY:-docker\.io\/library\}\/\$\{PODYARD_POSTGRES_IMAGE:-postgres:18\}$/,
  );
  const values = parse(await fill('deploy/helm/podyard/values.yaml'));
  expect([values.image.registry, values.image.repository, values.global.imageRegistry]).toEqual([
    PLACES.registry,
    'podyard',
    '',
  ]);
});

test.each([
  [{ ...PLACES, repository: 'http://code.example.com/podyard' }, /PODYARD_RELEASE_REPOSITORY/],
  [{ ...PLACES, registry: 'https://registry.example.com' }, /PODYARD_RELEASE_REGISTRY/],
])('a place that is none is refused: %j', (places, words) => {
  expect(() => withPublishedNames('', places)).toThrow(words);
});

test('whoever publishes the Debian package is its maintainer, else the author of the commit', () => {
  const facts = { author: 'Ada Lovelace <ada@example.com>' };
  expect(maintainerOf(facts)).toBe('Ada Lovelace <ada@example.com>');
  expect(maintainerOf(facts, 'The team <team@example.com>')).toBe('The team <team@example.com>');
  expect(() => maintainerOf(facts, 'The team')).toThrow('Ada Lovelace <ada@example.com>');
  expect(() => maintainerOf(facts, 'The team <team@example.com>\nEssential: yes')).toThrow(/MAINTAINER/);
});

describe.skipIf(noHelm)('the packed chart', () => {
  test('renders what the checkout’s chart does', async () => {
    const { version } = readReleaseFacts();
    const folder = await builtArtifacts();
    const programs = await findHelm();
    const packed = `${folder}/podyard-chart-${version}.tgz`;
    for (const values of [MINIMUM, EVERYTHING]) {
      const options = { apiVersions: ['monitoring.coreos.com/v1'] };
      expect(await renderText(programs, values, { ...options, chart: packed })).toBe(
        await renderText(programs, values, options),
      );
    }
    const { stdout } = await run(programs.helm, ['show', 'chart', packed]);
    expect(stdout).toContain(`version: ${version}`);
  }, 300_000);
});
