import {
  createApiKeyRoute,
  deleteApiKeyRoute,
  getAccountRoute,
  listApiKeysRoute,
  listSshKeysRoute,
  replaceSshKeysRoute,
  rotateApiKeyRoute,
  updateApiKeyRoute,
  watchAccountRoute,
} from './account/account-routes.ts';
import { s3KeyRoutes } from './account/s3-key-routes.ts';
import { exportAuditRoute, listAuditRoute } from './audit/audit-routes.ts';
import {
  getBillingRoute,
  getClusterBillingRoute,
  getEndpointBillingRoute,
  getNetworkVolumeBillingRoute,
  getPodBillingRoute,
  getServerlessBillingRoute,
} from './billing/billing-routes.ts';
import { exportCostsRoute, getCostsRoute, getForecastRoute } from './billing/cost-routes.ts';
import { createBudgetRoute, deleteBudgetRoute, listBudgetsRoute, updateBudgetRoute } from './budgets/budget-routes.ts';
import { streamBuildLogRoute } from './builds/build-log-routes.ts';
import {
  cancelBuildRoute,
  createBuildRoute,
  findMissingFilesRoute,
  getAnyBuildRoute,
  listAllBuildsRoute,
  retryBuildRoute,
  storeBuildFileRoute,
  storeBuildFilesRoute,
} from './builds/build-routes.ts';
import {
  getCpuFlavorRoute,
  getDataCenterRoute,
  getGpuCapacityRoute,
  getGpuTypeRoute,
  listCpuFlavorsRoute,
  listDataCentersRoute,
  listGpuTypesRoute,
  listPublicTemplatesRoute,
} from './catalog/catalog-routes.ts';
import {
  createClusterRoute,
  deleteClusterRoute,
  getClusterRoute,
  listClusterPodsRoute,
  listClustersRoute,
  updateClusterRoute,
} from './clusters/cluster-routes.ts';
import {
  createEndpointRoute,
  deleteEndpointRoute,
  getEndpointRoute,
  listEndpointsRoute,
  updateEndpointRoute,
} from './endpoints/endpoint-routes.ts';
import {
  getEndpointStateRoute,
  listDecisionsRoute,
  listEndpointFiguresRoute,
  watchEndpointRoute,
} from './endpoints/endpoint-state-routes.ts';
import { renewLeaseRoute } from './endpoints/lease-routes.ts';
import { gitHookRoute } from './git-sources/git-hook-route.ts';
import {
  deleteGitSourceRoute,
  getGitSourceRoute,
  replaceGitSourceRoute,
  syncGitSourceRoute,
} from './git-sources/git-source-routes.ts';
import { getGpuRuleRoute, replaceGpuRuleRoute } from './gpu-rules/gpu-rule-routes.ts';
import { getEndpointHistoryRoute, getInstallationHistoryRoute } from './history/history-routes.ts';
import { getInstallationRoute } from './installation/get-installation.ts';
import { listInstallationEndpointsRoute } from './installation/list-endpoints.ts';
import { getHealthRoute, getMetricsRoute, getReadinessRoute } from './installation/operator-routes.ts';
import { getJobPayloadRoutes, getJobRoute, listJobsRoute } from './jobs/job-routes.ts';
import {
  getInstallationLimitsRoute,
  getOwnLimitsRoute,
  getUserLimitsRoute,
  updateInstallationLimitsRoute,
  updateUserLimitsRoute,
} from './limits/limit-routes.ts';
import { downloadEndpointLogRoute, downloadPodLogRoute } from './logs/download-log.ts';
import { listEndpointLogLinesRoute, listPodLogLinesRoute } from './logs/list-log-lines.ts';
import { getEndpointLogsRoute, getPodLogsRoute, getWorkerLogsRoute } from './logs/stream-logs.ts';
import { MACHINE_MODEL_ROUTES } from './machine-models/machine-model-routes.ts';
import { getEndpointModelsRoute, replaceEndpointModelsRoute, resolveModelsRoute } from './models/model-routes.ts';
import {
  createNetworkVolumeRoute,
  deleteNetworkVolumeRoute,
  getNetworkVolumeRoute,
  listNetworkVolumesRoute,
  updateNetworkVolumeRoute,
} from './network-volumes/network-volume-routes.ts';
import { noticeRoutes } from './notices/notice-routes.ts';
import { builtAssetRoutes } from './pages/built-assets.ts';
import { getConsoleRoute } from './pages/get-console.ts';
import { getDocsPageRoute } from './pages/get-docs-page.ts';
import {
  createPodRoute,
  deletePodRoute,
  getPodRoute,
  listPodsRoute,
  podActionRoute,
  updatePodRoute,
  watchPodsRoute,
} from './pods/pod-routes.ts';
import {
  getPodAccessRoute,
  getPodJupyterRoute,
  getPodLifetimeRoute,
  setPodAccessRoute,
  setPodLifetimeRoute,
} from './pods/pod-setting-routes.ts';
import {
  createRegistryDelegationRoute,
  createRegistryRoute,
  deleteRegistryDelegationRoute,
  deleteRegistryRoute,
  getRegistryRoute,
  listRegistriesRoute,
  listRegistryDelegationsRoute,
} from './registries/registry-routes.ts';
import {
  changeRolloutRoute,
  listEndpointReleasesRoute,
  listReleaseImagesRoute,
  rollbackReleaseRoute,
} from './releases/release-routes.ts';
import { deleteScheduleRoute, getScheduleRoute, replaceScheduleRoute } from './scheduled-floors/schedule-routes.ts';
import {
  createSecretRoute,
  deleteSecretRoute,
  getSecretRoute,
  listSecretsRoute,
  updateSecretRoute,
} from './secrets/secret-routes.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import type { RestRoute } from './shared/rest-app.ts';
import { getSimulationRoute, simulateRoute } from './simulation/simulation-routes.ts';
import { teamMemberRoutes } from './teams/member-routes.ts';
import { teamRoutes } from './teams/team-routes.ts';
import {
  createTemplateRoute,
  deleteTemplateRoute,
  getTemplateRoute,
  listTemplatesRoute,
  updateTemplateRoute,
} from './templates/template-routes.ts';
import {
  createPodTerminalRoute,
  createWorkerTerminalRoute,
  endTerminalRoute,
  listTerminalsRoute,
} from './terminals/terminal-routes.ts';
import { invitationRoutes } from './users/invitation-routes.ts';
import { userApiKeyRoutes } from './users/user-api-keys.ts';
import { getUserRateLimitRoute, replaceUserRateLimitRoute } from './users/user-rate-limit.ts';
import {
  createUserRoute,
  deleteUserRoute,
  getUserRoute,
  listUsersRoute,
  planUserRemovalRoute,
  resumeUserRoute,
  suspendUserRoute,
  updateUserRoute,
} from './users/user-routes.ts';
import type { Wires } from './wires.ts';
import { getWorkerRoute, listEndpointWorkersRoute } from './workers/worker-routes.ts';
import { getWorkloadOptionsRoute, replaceWorkloadOptionsRoute } from './workload-options/workload-option-routes.ts';
/** Returns every operation of a revision and every page, in the order of the OpenAPI description. */
export const routesOf = ({ catalog, endpoints, pods, sshKeys, templates }: Wires): readonly RestRoute[] => [
  listPodsRoute(pods),
  watchPodsRoute(pods),
  createPodRoute(pods),
  getPodRoute(pods),
  updatePodRoute(pods),
  deletePodRoute,
  podActionRoute(pods),
  getPodAccessRoute,
  setPodAccessRoute,
  getPodLifetimeRoute,
  setPodLifetimeRoute,
  getPodJupyterRoute,
  getPodLogsRoute,
  createPodTerminalRoute,
  listPodLogLinesRoute,
  downloadPodLogRoute,
  listClustersRoute,
  createClusterRoute,
  getClusterRoute,
  updateClusterRoute,
  deleteClusterRoute,
  listClusterPodsRoute(pods),
  listEndpointsRoute(endpoints),
  listEndpointFiguresRoute,
  createEndpointRoute(endpoints),
  getEndpointRoute(endpoints),
  getEndpointStateRoute,
  updateEndpointRoute(endpoints),
  ...(endpoints.ownRoutes ?? []),
  deleteEndpointRoute,
  listEndpointWorkersRoute,
  getWorkerRoute,
  listDecisionsRoute,
  listJobsRoute,
  getJobRoute,
  ...getJobPayloadRoutes,
  getEndpointHistoryRoute,
  renewLeaseRoute,
  getScheduleRoute,
  replaceScheduleRoute,
  getWorkloadOptionsRoute,
  replaceWorkloadOptionsRoute,
  deleteScheduleRoute,
  getGitSourceRoute,
  replaceGitSourceRoute,
  deleteGitSourceRoute,
  syncGitSourceRoute,
  gitHookRoute,
  getGpuRuleRoute,
  replaceGpuRuleRoute,
  getEndpointModelsRoute,
  replaceEndpointModelsRoute,
  resolveModelsRoute,
  listEndpointReleasesRoute,
  listReleaseImagesRoute,
  rollbackReleaseRoute(endpoints),
  changeRolloutRoute,
  getWorkerLogsRoute,
  createWorkerTerminalRoute,
  getEndpointLogsRoute,
  listEndpointLogLinesRoute,
  downloadEndpointLogRoute,
  watchEndpointRoute,
  listAllBuildsRoute,
  createBuildRoute,
  findMissingFilesRoute,
  storeBuildFileRoute,
  storeBuildFilesRoute,
  getAnyBuildRoute,
  streamBuildLogRoute,
  cancelBuildRoute,
  retryBuildRoute,
  listTemplatesRoute(templates),
  createTemplateRoute(templates),
  getTemplateRoute(templates),
  updateTemplateRoute(templates),
  deleteTemplateRoute,
  listNetworkVolumesRoute,
  createNetworkVolumeRoute,
  getNetworkVolumeRoute,
  updateNetworkVolumeRoute,
  deleteNetworkVolumeRoute,
  listRegistriesRoute,
  createRegistryRoute,
  getRegistryRoute,
  deleteRegistryRoute,
  listRegistryDelegationsRoute,
  createRegistryDelegationRoute,
  deleteRegistryDelegationRoute,
  listGpuTypesRoute(catalog),
  getGpuTypeRoute(catalog),
  getGpuCapacityRoute,
  listCpuFlavorsRoute(catalog),
  getCpuFlavorRoute(catalog),
  listDataCentersRoute(catalog),
  getDataCenterRoute(catalog),
  listPublicTemplatesRoute(templates),
  getBillingRoute,
  getPodBillingRoute,
  getServerlessBillingRoute,
  getEndpointBillingRoute,
  getNetworkVolumeBillingRoute,
  getClusterBillingRoute,
  getCostsRoute,
  exportCostsRoute,
  getForecastRoute,
  listAuditRoute,
  exportAuditRoute,
  listBudgetsRoute,
  createBudgetRoute,
  updateBudgetRoute,
  deleteBudgetRoute,
  getAccountRoute,
  getOwnLimitsRoute,
  listUsersRoute,
  createUserRoute,
  getUserRoute,
  updateUserRoute,
  suspendUserRoute,
  resumeUserRoute,
  planUserRemovalRoute,
  deleteUserRoute,
  getUserLimitsRoute,
  updateUserLimitsRoute,
  getUserRateLimitRoute,
  replaceUserRateLimitRoute,
  ...userApiKeyRoutes,
  ...invitationRoutes,
  ...teamRoutes,
  ...teamMemberRoutes,
  getInstallationRoute,
  listInstallationEndpointsRoute,
  getInstallationHistoryRoute,
  getInstallationLimitsRoute,
  updateInstallationLimitsRoute,
  getSimulationRoute,
  simulateRoute,
  ...MACHINE_MODEL_ROUTES,
  watchAccountRoute,
  listApiKeysRoute,
  createApiKeyRoute,
  updateApiKeyRoute,
  rotateApiKeyRoute,
  deleteApiKeyRoute,
  ...sessionRoutes,
  ...s3KeyRoutes,
  ...noticeRoutes,
  listTerminalsRoute,
  endTerminalRoute,
  listSecretsRoute,
  createSecretRoute,
  getSecretRoute,
  updateSecretRoute,
  deleteSecretRoute,
  listSshKeysRoute(sshKeys),
  replaceSshKeysRoute(sshKeys),
  getConsoleRoute,
  builtAssetRoutes,
  getDocsPageRoute,
];

/** Probes and metrics: every process serves them, whatever its roles. */
export const OPERATOR_ROUTES: readonly RestRoute[] = [getHealthRoute, getReadinessRoute, getMetricsRoute];
const OPERATOR_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** True for a path that every process serves. */
export function isOperatorPath(url: string): boolean {
  const queryAt = url.indexOf('?');
  return OPERATOR_PATHS.has(queryAt < 0 ? url : url.slice(0, queryAt));
}
