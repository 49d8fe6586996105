/** The documentation's menu: its sections and their pages below docs/, in reading order. */
export const DOCS_SECTIONS: readonly { title: string; files: readonly string[] }[] = [
  {
    title: 'Get started',
    files: [
      'guide/index.md',
      'guide/install.md',
      'guide/start.md',
      'guide/existing-clients.md',
      'guide/from-runpod.md',
      'guide/comparison.md',
    ],
  },
  {
    title: 'Workers',
    files: [
      'guide/javascript-worker.md',
      'guide/python-worker.md',
      'guide/load-balancing.md',
      'guide/pods.md',
      'guide/clusters.md',
      'guide/images.md',
    ],
  },
  {
    title: 'Run work',
    files: ['guide/batches.md', 'guide/secrets.md', 'guide/scaling.md', 'guide/flashboot.md', 'guide/shortage.md'],
  },
  { title: 'Tools', files: ['guide/console.md', 'guide/command-line.md'] },
  {
    title: 'Set up',
    files: [
      'guide/gpu-machine.md',
      'guide/domain.md',
      'guide/several-machines.md',
      'guide/cluster-walk.md',
      'guide/kubernetes.md',
      'guide/database.md',
      'guide/move.md',
      'guide/upgrade.md',
    ],
  },
  {
    title: 'Operate',
    files: [
      'operations.md',
      'guide/troubleshooting.md',
      'guide/errors.md',
      'guide/alerts.md',
      'guide/sizing.md',
      'guide/gpus.md',
      'guide/users.md',
      'configuration.md',
      'catalog.md',
      'guide/security.md',
    ],
  },
  {
    title: 'The interface',
    files: [
      'interface/README.md',
      'interface/rest.md',
      'interface/revision-2026-08.md',
      'interface/rest-v1.md',
      'interface/graphql.md',
      'interface/queue.md',
      'interface/batches.md',
      'interface/logs.md',
      'interface/terminals.md',
      'interface/worker-api.md',
    ],
  },
  { title: 'Reference', files: ['architecture.md', 'promises.md', 'dependencies.md', 'states.md', 'glossary.md'] },
];
