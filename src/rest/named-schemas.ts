import { ACCOUNT_SCHEMAS } from './account/account-schemas.ts';
import { AUDIT_SCHEMAS } from './audit/audit-schemas.ts';
import { BILLING_SCHEMAS } from './billing/billing-schemas.ts';
import { COST_SCHEMAS } from './billing/cost-schemas.ts';
import { BUDGET_SCHEMAS } from './budgets/budget-schemas.ts';
import { BUILD_SCHEMAS } from './builds/build-schemas.ts';
import { CATALOG_SCHEMAS } from './catalog/catalog-schemas.ts';
import { CLUSTER_SCHEMAS } from './clusters/cluster-schemas.ts';
import { ENDPOINT_SCHEMAS } from './endpoints/endpoint-examples.ts';
import { LEASE_SCHEMAS } from './endpoints/lease-routes.ts';
import { GIT_SOURCE_SCHEMAS } from './git-sources/git-source-schemas.ts';
import { GPU_RULE_SCHEMAS } from './gpu-rules/gpu-rule-schemas.ts';
import { HISTORY_SCHEMAS } from './history/history-schemas.ts';
import { ENDPOINT_LIST_SCHEMAS } from './installation/endpoint-list-schemas.ts';
import { INSTALLATION_SCHEMAS } from './installation/installation-schemas.ts';
import { JOB_SCHEMAS } from './jobs/job-schemas.ts';
import { LIMIT_SCHEMAS } from './limits/limit-schemas.ts';
import { LOG_SCHEMAS } from './logs/log-schemas.ts';
import { MACHINE_MODEL_SCHEMAS } from './machine-models/machine-model-schemas.ts';
import { MODEL_SCHEMAS } from './models/model-schemas.ts';
import { VOLUME_SCHEMAS } from './network-volumes/volume-schemas.ts';
import { NOTICE_SCHEMAS } from './notices/notice-schemas.ts';
import { POD_SCHEMAS } from './pods/pod-wire.ts';
import { REGISTRY_SCHEMAS } from './registries/registry-schemas.ts';
import { RELEASE_SCHEMAS } from './releases/release-schemas.ts';
import { SCHEDULE_SCHEMAS } from './scheduled-floors/schedule-schemas.ts';
import { SECRET_SCHEMAS } from './secrets/secret-schemas.ts';
import { SESSION_SCHEMAS } from './sessions/session-schemas.ts';
import { ErrorResponse, problemExample } from './shared/error-response.ts';
import type { NamedSchemas } from './shared/example-values.ts';
import { SIMULATION_SCHEMAS } from './simulation/simulation-schemas.ts';
import { TEAM_SCHEMAS } from './teams/team-schemas.ts';
import { TEMPLATE_SCHEMAS } from './templates/template-wire.ts';
import { TERMINAL_SCHEMAS } from './terminals/terminal-schemas.ts';
import { USER_SCHEMAS } from './users/user-schemas.ts';
import type { Wires } from './wires.ts';
import { WORKER_SCHEMAS } from './workers/worker-schemas.ts';
import { WORKLOAD_OPTION_SCHEMAS } from './workload-options/workload-option-schemas.ts';

/** Returns every schema that a revision's OpenAPI description lists under its own name. */
export const namedSchemas = ({ endpoints, pods, sshKeys, templates }: Wires): NamedSchemas => [
  [ErrorResponse, problemExample('unprocessable')],
  ...POD_SCHEMAS,
  ...pods.schemas,
  ...CLUSTER_SCHEMAS,
  ...endpoints.schemas,
  ...ENDPOINT_SCHEMAS,
  ...WORKER_SCHEMAS,
  ...INSTALLATION_SCHEMAS,
  ...ENDPOINT_LIST_SCHEMAS,
  ...LIMIT_SCHEMAS,
  ...SIMULATION_SCHEMAS,
  ...MACHINE_MODEL_SCHEMAS,
  ...JOB_SCHEMAS,
  ...LOG_SCHEMAS,
  ...HISTORY_SCHEMAS,
  ...LEASE_SCHEMAS,
  ...SCHEDULE_SCHEMAS,
  ...WORKLOAD_OPTION_SCHEMAS,
  ...GPU_RULE_SCHEMAS,
  ...RELEASE_SCHEMAS,
  ...TEMPLATE_SCHEMAS,
  ...templates.schemas,
  ...VOLUME_SCHEMAS,
  ...REGISTRY_SCHEMAS,
  ...CATALOG_SCHEMAS,
  ...BILLING_SCHEMAS,
  ...COST_SCHEMAS,
  ...AUDIT_SCHEMAS,
  ...BUDGET_SCHEMAS,
  ...NOTICE_SCHEMAS,
  ...BUILD_SCHEMAS,
  ...GIT_SOURCE_SCHEMAS,
  ...MODEL_SCHEMAS,
  ...ACCOUNT_SCHEMAS,
  ...TEAM_SCHEMAS,
  ...USER_SCHEMAS,
  ...SESSION_SCHEMAS,
  ...TERMINAL_SCHEMAS,
  ...SECRET_SCHEMAS,
  ...sshKeys.schemas,
];
