/**
 * The floors of the house (docs/architecture.md): a folder imports only from floors below its own. TypeScript 7 has no
 * programming interface yet, hence swc as the parser; it sees type-only imports too.
 */
const FLOORS = [
  ['core', 'config'],
  ['db', 'engine'],
  ['scaling'],
  ['domain'],
  ['runtimes', 'builders', 'models', 'http', 'outbound'],
  ['rest', 'graphql', 'dataplane', 'control', 'sign-in'],
  ['cli'],
  ['compose'],
  ['main.ts', 'run.ts', 'data-process.ts', 'server.ts'],
];

/** Tests may reach for anything. */
const TESTS = ['[.]test[.]ts$'];

/** What belongs to a name of the table: a file itself, or all of a folder. */
const pathOf = (name) => (name.endsWith('.ts') ? `^src/${name.replace('.', '[.]')}$` : `^src/${name}/`);

/** Within floors 0 and 8 imports are free (config/ uses core/, run.ts uses server.ts); elsewhere nothing goes sideways. */
const isOneFloor = (floor) => floor === 0 || floor === FLOORS.length - 1;

function floorRule(folder, floor) {
  const sideways = isOneFloor(floor) ? [] : FLOORS[floor].filter((other) => other !== folder);
  return {
    name: `floor-${floor}-${folder}`,
    comment: 'Only floors below may be imported: move what both need further down.',
    severity: 'error',
    from: { path: pathOf(folder), pathNot: TESTS },
    to: { path: [...sideways, ...FLOORS.slice(floor + 1).flat()].map(pathOf) },
  };
}

const floorRules = FLOORS.slice(0, -1).flatMap((folders, floor) => folders.map((folder) => floorRule(folder, floor)));

module.exports = {
  forbidden: [
    ...floorRules,
    {
      name: 'known-folder',
      comment: 'A new folder in src/ needs a floor: add it to the table above and to docs/architecture.md.',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: FLOORS.flat().map(pathOf) },
    },
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one, or a third is missing that both can use.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'scaling-is-pure',
      comment: 'No database, no clock, no input or output: the same input gives the same answer.',
      severity: 'error',
      from: { path: '^src/scaling/', pathNot: TESTS },
      to: { path: '.', pathNot: '^src/(scaling|core|config)/' },
    },
    {
      name: 'wire-knows-no-plane',
      comment:
        'HTTP/1.1 is the same for the proxy, the queue API and the worker API: what is about one of them belongs there.',
      severity: 'error',
      from: { path: '^src/dataplane/wire/', pathNot: TESTS },
      to: { path: '^src/(dataplane/(?!wire/)|domain/|db/)' },
    },
    {
      name: 'decisions-are-pure',
      comment:
        'A next step depends on rows and on what was observed: types of domain/ and of the runtime, nothing that acts.',
      severity: 'error',
      from: { path: '^src/control/[^/]+/decide-', pathNot: TESTS },
      to: { path: '.', pathNot: ['^src/(scaling|domain|core|config)/', '^src/runtimes/runtime[.]ts$'] },
    },
    {
      name: 'no-test-in-production',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { path: [...TESTS, '^(test|bench|scripts)/'] },
    },
    {
      name: 'no-dev-dependency-in-production',
      comment: 'It would be missing where only the published package is installed. Its types may be used.',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
