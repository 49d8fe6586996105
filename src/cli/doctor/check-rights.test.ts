import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { RIGHTS } from './check-rights.ts';

const CHART_RULES = new URL('../../../deploy/helm/podyard/templates/_rules.tpl', import.meta.url);

/** Returns `<group>/<resource> <verb>` for each rule of one of the chart's roles. */
async function rulesOf(role: string): Promise<string[]> {
  const text = await readFile(CHART_RULES, 'utf8');
  const body = new RegExp(`define "podyard.${role}Rules" -}}([\\s\\S]*?)\\n{{- end -}}`).exec(text)![1]!;
  const rules = body.matchAll(/apiGroups: \["?([^"\]]*)"?\]\s+resources: \[(.*)\]\s+verbs: \[(.*)\]/g);
  return [...rules].flatMap(([, group, resources, verbs]) =>
    resources!.split(', ').flatMap((resource) => verbs!.split(', ').map((verb) => `${group}/${resource} ${verb}`)),
  );
}

test('the doctor checks exactly the rights that the chart grants', async () => {
  const asked = (isClusterWide: boolean) => [
    ...new Set(
      RIGHTS.filter((right) => (right.isClusterWide ?? false) === isClusterWide).flatMap(
        ({ group = '', resource, verbs }) => verbs.map((verb) => `${group}/${resource} ${verb}`),
      ),
    ),
  ];
  const given = [...new Set([...(await rulesOf('control')), ...(await rulesOf('server'))])];
  expect(given.length).toBeGreaterThan(20);
  expect(asked(false).toSorted()).toEqual(given.toSorted());
  expect(asked(true).toSorted()).toEqual((await rulesOf('cluster')).toSorted());
});
