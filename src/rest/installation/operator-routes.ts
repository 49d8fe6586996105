import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { EXPOSITION_TYPE } from './exposition.ts';

const EXAMPLE = `# HELP podyard_jobs_submitted_total Jobs that were accepted.
# TYPE podyard_jobs_submitted_total counter
podyard_jobs_submitted_total 42
`;

export const operatorRoutes: RestRoute = (app, deps) => {
  /** Liveness: the process responds. Independent of the database, since a restart would not bring it back. */
  app.get('/healthz', {
    schema: {
      operationId: 'getHealth',
      summary: 'Check liveness',
      description: 'Responds while the process runs, even without the database.',
      tags: ['podyard'],
      security: [],
      response: {
        200: Type.Object({ status: Type.String() }, { description: 'Alive.', examples: [{ status: 'ok' }] }),
      },
    },
    config: { permission: 'public' },
    handler: async () => ({ status: 'ok' }),
  });

  /** Readiness: the database accepts writes and the process is not shutting down. */
  app.get('/readyz', {
    schema: {
      operationId: 'getReadiness',
      summary: 'Check readiness',
      description: '503 while the database is unreachable or refuses writes, or the process is shutting down.',
      tags: ['podyard'],
      security: [],
      response: {
        200: Type.Object({ status: Type.String() }, { description: 'Ready.', examples: [{ status: 'ready' }] }),
      },
    },
    config: { permission: 'public', failures: ['unavailable'] },
    handler: async () => {
      await deps.readiness.check();
      return { status: 'ready' };
    },
  });

  app.get('/metrics', {
    schema: {
      operationId: 'getMetrics',
      summary: 'Get Prometheus metrics',
      description:
        'Podyard only. Returns metrics of the installation and of the process that responds, in the text format. ' +
        'Requires a key of user `admin` that may read the account, or the token in `PODYARD_METRICS_TOKEN`.',
      tags: ['podyard'],
      produces: ['text/plain'],
      response: {
        200: {
          description: 'Metrics in the Prometheus text format.',
          content: { 'text/plain': { schema: Type.String({ examples: [EXAMPLE] }) } },
        },
      },
    },
    config: { permission: PERMISSIONS.readAccount, operator: 'readInstallation', takesMetricsToken: true },
    handler: async (_request, reply) => {
      return reply.header('content-type', EXPOSITION_TYPE).send(await deps.metricsPage.read());
    },
  });
};
