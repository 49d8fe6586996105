import { createApiKeyRoute } from './account/create-api-key.ts';
import { deleteApiKeyRoute } from './account/delete-api-key.ts';
import { getAccountRoute } from './account/get-account.ts';
import { listApiKeysRoute } from './account/list-api-keys.ts';
import { listSshKeysRoute } from './account/list-ssh-keys.ts';
import { replaceSshKeysRoute } from './account/replace-ssh-keys.ts';
import { watchAccountRoute } from './account/watch-account.ts';
import { exportCostsRoute } from './billing/export-costs.ts';
import { getBillingRoute } from './billing/get-billing.ts';
import { getClusterBillingRoute } from './billing/get-cluster-billing.ts';
import { getCostsRoute } from './billing/get-costs.ts';
import { getEndpointBillingRoute } from './billing/get-endpoint-billing.ts';
import { getForecastRoute } from './billing/get-forecast.ts';
import { getNetworkVolumeBillingRoute } from './billing/get-network-volume-billing.ts';
import { getPodBillingRoute } from './billing/get-pod-billing.ts';
import { getServerlessBillingRoute } from './billing/get-serverless-billing.ts';
import { createBudgetRoute } from './budgets/create-budget.ts';
import { deleteBudgetRoute } from './budgets/delete-budget.ts';
import { listBudgetsRoute } from './budgets/list-budgets.ts';
import { updateBudgetRoute } from './budgets/update-budget.ts';
import { getCpuFlavorRoute } from './catalog/get-cpu-flavor.ts';
import { getDataCenterRoute } from './catalog/get-data-center.ts';
import { getGpuCapacityRoute } from './catalog/get-gpu-capacity.ts';
import { getGpuTypeRoute } from './catalog/get-gpu-type.ts';
import { listCpuFlavorsRoute } from './catalog/list-cpu-flavors.ts';
import { listDataCentersRoute } from './catalog/list-data-centers.ts';
import { listGpuTypesRoute } from './catalog/list-gpu-types.ts';
import { listPublicTemplatesRoute } from './catalog/list-public-templates.ts';
import { createClusterRoute } from './clusters/create-cluster.ts';
import { deleteClusterRoute } from './clusters/delete-cluster.ts';
import { getClusterRoute } from './clusters/get-cluster.ts';
import { listClusterPodsRoute } from './clusters/list-cluster-pods.ts';
import { listClustersRoute } from './clusters/list-clusters.ts';
import { updateClusterRoute } from './clusters/update-cluster.ts';
import { createEndpointRoute } from './endpoints/create-endpoint.ts';
import { deleteEndpointRoute } from './endpoints/delete-endpoint.ts';
import { getEndpointRoute } from './endpoints/get-endpoint.ts';
import { getEndpointStateRoute } from './endpoints/get-endpoint-state.ts';
import { listDecisionsRoute } from './endpoints/list-decisions.ts';
import { listEndpointFiguresRoute } from './endpoints/list-endpoint-figures.ts';
import { listEndpointsRoute } from './endpoints/list-endpoints.ts';
import { updateEndpointRoute } from './endpoints/update-endpoint.ts';
import { watchEndpointRoute } from './endpoints/watch-endpoint.ts';
import { getGpuRuleRoute } from './gpu-rules/get-gpu-rule.ts';
import { replaceGpuRuleRoute } from './gpu-rules/replace-gpu-rule.ts';
import { getEndpointHistoryRoute } from './history/get-endpoint-history.ts';
import { getInstallationHistoryRoute } from './history/get-installation-history.ts';
import { getHealthRoute } from './installation/get-health.ts';
import { getInstallationRoute } from './installation/get-installation.ts';
import { getMetricsRoute } from './installation/get-metrics.ts';
import { getReadinessRoute } from './installation/get-readiness.ts';
import { getJobRoute } from './jobs/get-job.ts';
import { getJobPayloadRoutes } from './jobs/get-job-payload.ts';
import { listJobsRoute } from './jobs/list-jobs.ts';
import { getInstallationLimitsRoute } from './limits/get-installation-limits.ts';
import { getOwnLimitsRoute } from './limits/get-own-limits.ts';
import { getUserLimitsRoute } from './limits/get-user-limits.ts';
import { updateInstallationLimitsRoute } from './limits/update-installation-limits.ts';
import { updateUserLimitsRoute } from './limits/update-user-limits.ts';
import { downloadEndpointLogRoute, downloadPodLogRoute } from './logs/download-log.ts';
import { getEndpointLogsRoute } from './logs/get-endpoint-logs.ts';
import { listEndpointLogLinesRoute, listPodLogLinesRoute } from './logs/list-log-lines.ts';
import { createNetworkVolumeRoute } from './network-volumes/create-network-volume.ts';
import { deleteNetworkVolumeRoute } from './network-volumes/delete-network-volume.ts';
import { getNetworkVolumeRoute } from './network-volumes/get-network-volume.ts';
import { listNetworkVolumesRoute } from './network-volumes/list-network-volumes.ts';
import { updateNetworkVolumeRoute } from './network-volumes/update-network-volume.ts';
import { getApiReferenceRoute } from './pages/get-api-reference.ts';
import { getApiReferenceAssetRoute } from './pages/get-api-reference-asset.ts';
import { getConsoleRoute } from './pages/get-console.ts';
import { getConsoleAssetRoute } from './pages/get-console-asset.ts';
import { getDocsAssetRoute } from './pages/get-docs-asset.ts';
import { getDocsPageRoute } from './pages/get-docs-page.ts';
import { createPodRoute } from './pods/create-pod.ts';
import { deletePodRoute } from './pods/delete-pod.ts';
import { getPodRoute } from './pods/get-pod.ts';
import { getPodAccessRoute } from './pods/get-pod-access.ts';
import { getPodJupyterRoute } from './pods/get-pod-jupyter.ts';
import { getPodLifetimeRoute } from './pods/get-pod-lifetime.ts';
import { getPodLogsRoute } from './pods/get-pod-logs.ts';
import { listPodsRoute } from './pods/list-pods.ts';
import { podActionRoute } from './pods/pod-action.ts';
import { setPodAccessRoute } from './pods/set-pod-access.ts';
import { setPodLifetimeRoute } from './pods/set-pod-lifetime.ts';
import { updatePodRoute } from './pods/update-pod.ts';
import { watchPodsRoute } from './pods/watch-pods.ts';
import { createRegistryRoute } from './registries/create-registry.ts';
import { createRegistryDelegationRoute } from './registries/create-registry-delegation.ts';
import { deleteRegistryRoute } from './registries/delete-registry.ts';
import { deleteRegistryDelegationRoute } from './registries/delete-registry-delegation.ts';
import { getRegistryRoute } from './registries/get-registry.ts';
import { listRegistriesRoute } from './registries/list-registries.ts';
import { listRegistryDelegationsRoute } from './registries/list-registry-delegations.ts';
import { changeRolloutRoute } from './releases/change-rollout.ts';
import { listEndpointReleasesRoute } from './releases/list-endpoint-releases.ts';
import { rollbackReleaseRoute } from './releases/rollback-release.ts';
import { deleteScheduleRoute } from './scheduled-floors/delete-schedule.ts';
import { getScheduleRoute } from './scheduled-floors/get-schedule.ts';
import { replaceScheduleRoute } from './scheduled-floors/replace-schedule.ts';
import { createSecretRoute } from './secrets/create-secret.ts';
import { deleteSecretRoute } from './secrets/delete-secret.ts';
import { getSecretRoute } from './secrets/get-secret.ts';
import { listSecretsRoute } from './secrets/list-secrets.ts';
import { updateSecretRoute } from './secrets/update-secret.ts';
import type { RestRoute } from './shared/rest-app.ts';
import { getSimulationRoute } from './simulation/get-simulation.ts';
import { simulateRoute } from './simulation/simulate.ts';
import { createTemplateRoute } from './templates/create-template.ts';
import { deleteTemplateRoute } from './templates/delete-template.ts';
import { getTemplateRoute } from './templates/get-template.ts';
import { listTemplatesRoute } from './templates/list-templates.ts';
import { updateTemplateRoute } from './templates/update-template.ts';
import { createPodTerminalRoute, createWorkerTerminalRoute } from './terminals/create-terminal.ts';
import { endTerminalRoute } from './terminals/end-terminal.ts';
import { listTerminalsRoute } from './terminals/list-terminals.ts';
import { createUserRoute } from './users/create-user.ts';
import { deleteUserRoute, planUserRemovalRoute } from './users/delete-user.ts';
import { getUserRoute } from './users/get-user.ts';
import { listUsersRoute } from './users/list-users.ts';
import { resumeUserRoute } from './users/resume-user.ts';
import { suspendUserRoute } from './users/suspend-user.ts';
import { updateUserRoute } from './users/update-user.ts';
import { createUserApiKeyRoute, deleteUserApiKeyRoute, listUserApiKeysRoute } from './users/user-api-keys.ts';
import { getUserRateLimitRoute, replaceUserRateLimitRoute } from './users/user-rate-limit.ts';
import type { Wires } from './wires.ts';
import { getWorkerRoute } from './workers/get-worker.ts';
import { getWorkerLogsRoute } from './workers/get-worker-logs.ts';
import { listEndpointWorkersRoute } from './workers/list-endpoint-workers.ts';
import { getWorkloadOptionsRoute } from './workload-options/get-workload-options.ts';
import { replaceWorkloadOptionsRoute } from './workload-options/replace-workload-options.ts';
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
  getScheduleRoute,
  replaceScheduleRoute,
  getWorkloadOptionsRoute,
  replaceWorkloadOptionsRoute,
  deleteScheduleRoute,
  getGpuRuleRoute,
  replaceGpuRuleRoute,
  listEndpointReleasesRoute,
  rollbackReleaseRoute(endpoints),
  changeRolloutRoute,
  getWorkerLogsRoute,
  createWorkerTerminalRoute,
  getEndpointLogsRoute,
  listEndpointLogLinesRoute,
  downloadEndpointLogRoute,
  watchEndpointRoute,
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
  listUserApiKeysRoute,
  createUserApiKeyRoute,
  deleteUserApiKeyRoute,
  getInstallationRoute,
  getInstallationHistoryRoute,
  getInstallationLimitsRoute,
  updateInstallationLimitsRoute,
  getSimulationRoute,
  simulateRoute,
  watchAccountRoute,
  listApiKeysRoute,
  createApiKeyRoute,
  deleteApiKeyRoute,
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
  getConsoleAssetRoute,
  getDocsPageRoute,
  getDocsAssetRoute,
  getApiReferenceRoute,
  getApiReferenceAssetRoute,
];

/** Probes and metrics: every process serves them, whatever its roles. */
export const OPERATOR_ROUTES: readonly RestRoute[] = [getHealthRoute, getReadinessRoute, getMetricsRoute];
const OPERATOR_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** True for a path that every process serves. */
export function isOperatorPath(url: string): boolean {
  const queryAt = url.indexOf('?');
  return OPERATOR_PATHS.has(queryAt < 0 ? url : url.slice(0, queryAt));
}
