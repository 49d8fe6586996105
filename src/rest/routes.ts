import { accountRoutes } from './account/account-routes.ts';
import { s3KeyRoutes } from './account/s3-key-routes.ts';
import { auditRoutes } from './audit/audit-routes.ts';
import { billingRoutes } from './billing/billing-routes.ts';
import { costRoutes } from './billing/cost-routes.ts';
import { budgetRoutes } from './budgets/budget-routes.ts';
import { buildLogRoutes } from './builds/build-log-routes.ts';
import { buildRoutes } from './builds/build-routes.ts';
import { catalogRoutes } from './catalog/catalog-routes.ts';
import { clusterRoutes } from './clusters/cluster-routes.ts';
import { endpointRoutes } from './endpoints/endpoint-routes.ts';
import { endpointStateRoutes } from './endpoints/endpoint-state-routes.ts';
import { leaseRoutes } from './endpoints/lease-routes.ts';
import { gitHookRoute } from './git-sources/git-hook-route.ts';
import { gitSourceRoutes } from './git-sources/git-source-routes.ts';
import { gpuRuleRoutes } from './gpu-rules/gpu-rule-routes.ts';
import { historyRoutes } from './history/history-routes.ts';
import { installationRoutes } from './installation/installation-routes.ts';
import { operatorRoutes } from './installation/operator-routes.ts';
import { jobRoutes } from './jobs/job-routes.ts';
import { limitRoutes } from './limits/limit-routes.ts';
import { logDownloadRoutes } from './logs/download-log.ts';
import { logLineRoutes } from './logs/list-log-lines.ts';
import { logStreamRoutes } from './logs/stream-logs.ts';
import { machineModelRoutes } from './machine-models/machine-model-routes.ts';
import { modelRoutes } from './models/model-routes.ts';
import { networkVolumeRoutes } from './network-volumes/network-volume-routes.ts';
import { noticeRoutes } from './notices/notice-routes.ts';
import { builtAssetRoutes } from './pages/built-assets.ts';
import { getConsoleRoute } from './pages/get-console.ts';
import { getDocsPageRoute } from './pages/get-docs-page.ts';
import { podRoutes } from './pods/pod-routes.ts';
import { podSettingRoutes } from './pods/pod-setting-routes.ts';
import { registryRoutes } from './registries/registry-routes.ts';
import { releaseRoutes } from './releases/release-routes.ts';
import { scheduleRoutes } from './scheduled-floors/schedule-routes.ts';
import { secretRoutes } from './secrets/secret-routes.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import type { RestRoute } from './shared/rest-app.ts';
import { simulationRoutes } from './simulation/simulation-routes.ts';
import { teamMemberRoutes } from './teams/member-routes.ts';
import { teamRoutes } from './teams/team-routes.ts';
import { templateRoutes } from './templates/template-routes.ts';
import { terminalRoutes } from './terminals/terminal-routes.ts';
import { invitationRoutes } from './users/invitation-routes.ts';
import { userApiKeyRoutes } from './users/user-api-keys.ts';
import { userRateLimitRoutes } from './users/user-rate-limit.ts';
import { userRoutes } from './users/user-routes.ts';
import type { Wires } from './wires.ts';
import { workerRoutes } from './workers/worker-routes.ts';
import { workloadOptionRoutes } from './workload-options/workload-option-routes.ts';

/** Returns every operation of a revision and every page, in the order of the OpenAPI description. */
export const routesOf = ({ catalog, endpoints, pods, sshKeys, templates }: Wires): readonly RestRoute[] => [
  podRoutes(pods),
  podSettingRoutes,
  clusterRoutes(pods),
  endpointRoutes(endpoints),
  endpointStateRoutes,
  ...(endpoints.ownRoutes ?? []),
  workerRoutes,
  terminalRoutes,
  logStreamRoutes,
  logLineRoutes,
  logDownloadRoutes,
  jobRoutes,
  historyRoutes,
  leaseRoutes,
  scheduleRoutes,
  workloadOptionRoutes,
  gitSourceRoutes,
  gitHookRoute,
  gpuRuleRoutes,
  modelRoutes,
  releaseRoutes(endpoints),
  buildRoutes,
  buildLogRoutes,
  templateRoutes(templates),
  networkVolumeRoutes,
  registryRoutes,
  catalogRoutes(catalog, templates),
  billingRoutes,
  costRoutes,
  auditRoutes,
  budgetRoutes,
  accountRoutes(sshKeys),
  limitRoutes,
  userRoutes,
  userRateLimitRoutes,
  userApiKeyRoutes,
  invitationRoutes,
  teamRoutes,
  teamMemberRoutes,
  installationRoutes,
  simulationRoutes,
  machineModelRoutes,
  sessionRoutes,
  s3KeyRoutes,
  noticeRoutes,
  secretRoutes,
  getConsoleRoute,
  builtAssetRoutes,
  getDocsPageRoute,
];

/** Probes and metrics: every process serves them, whatever its roles. */
export const OPERATOR_ROUTES: readonly RestRoute[] = [operatorRoutes];
const OPERATOR_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** True for a path that every process serves. */
export function isOperatorPath(url: string): boolean {
  const queryAt = url.indexOf('?');
  return OPERATOR_PATHS.has(queryAt < 0 ? url : url.slice(0, queryAt));
}
