import type { Command } from 'commander';

/** Examples of the commands for operators: by the command's path, two or more lines for a shell. */
const OPERATOR_EXAMPLES: Record<string, readonly string[]> = {
  serve: ['npx podyard', 'podyard serve --port 9000 --data-dir /var/lib/podyard'],
  demo: ['podyard demo', 'podyard demo --runtime process --exit'],
  prove: ['podyard prove', 'podyard prove --data-dir /var/lib/podyard'],
  upgrade: ['podyard upgrade --from /srv/podyard --check', 'podyard upgrade --from /srv/podyard --key podyard.pub'],
  doctor: ['podyard doctor', 'podyard doctor --runtime kubernetes --json'],
  init: ['podyard init hello', 'podyard init hello --template javascript'],
  deploy: ['podyard deploy', 'podyard deploy hello --dry-run', 'podyard deploy hf:Qwen/Qwen3-8B --dry-run'],
  dev: [
    'podyard dev',
    'podyard dev hello --port 9000 --env-file .env.local',
    'podyard dev hello --remote --pool ADA_24',
  ],
  kit: ['podyard kit python', 'podyard kit javascript --force'],
  completion: ['source <(podyard completion bash)', 'podyard completion fish | source'],
  complete: ['podyard complete -- endpoints get fi', "podyard complete -- endpoints create --pool ''"],
  keys: ['podyard keys list', 'podyard keys create ci'],
  'keys create': [
    'podyard keys create ci --scope serverless:read invoke',
    'podyard keys create --user anna --expires 2030-01-31T12:00:00Z',
  ],
  'keys list': ['podyard keys list', 'podyard keys list --user anna'],
  'keys update': [
    'podyard keys update ci --expires 2030-01-31T12:00:00Z --allow 203.0.113.0/24',
    'podyard keys update ci --disable',
  ],
  'keys rotate': ['podyard keys rotate ci', 'podyard keys rotate ci --overlap-hours 1 > key.txt'],
  'keys revoke': ['podyard keys revoke ci', 'podyard keys revoke ci --user anna --yes'],
  users: ['podyard users', 'podyard users create anna'],
  'users create': ['podyard users create anna', 'podyard users create anna --email anna@example.com'],
  'users get': ['podyard users get anna', 'podyard users get anna --json'],
  'users update': ['podyard users update anna --role admin', 'podyard users update anna --email anna@example.com'],
  'users suspend': ['podyard users suspend anna', "podyard users suspend anna --stop --reason 'left the team'"],
  'users resume': ['podyard users resume anna', 'podyard users resume anna --json'],
  'users invite': ['podyard users invite anna', 'podyard users invite anna --hours 24'],
  'users delete': ['podyard users delete anna --wait', 'podyard users delete anna --hand-over-to ben'],
  'users list': ['podyard users list', 'podyard users list --data-dir /var/lib/podyard'],
  'users limits': ['podyard users limits anna workers=50 gpuQuota=4', 'podyard users limits --defaults pods=20'],
  'users rate-limit': ['podyard users rate-limit anna minute=600,hour=30000', 'podyard users rate-limit anna default'],
  teams: ['podyard teams', 'podyard teams whoami --team vision'],
  'teams list': ['podyard teams list', 'podyard teams list --all --json'],
  'teams whoami': ['podyard teams whoami', 'podyard teams whoami --json'],
  'teams create': ['podyard teams create vision', 'podyard teams create vision --owner anna'],
  'teams rename': ['podyard teams rename vision sight', "podyard teams rename vision 'Computer vision'"],
  'teams delete': ['podyard teams delete vision', 'podyard teams delete vision --hand-over-to u4r8t2y6u1i9op --yes'],
  'teams members': ['podyard teams members vision', 'podyard teams members vision --json'],
  'teams add': ['podyard teams add vision u4r8t2y6u1i9op', 'podyard teams add vision anna --role developer'],
  'teams update': [
    'podyard teams update vision anna --role operator',
    'podyard teams update vision anna --role viewer',
  ],
  'teams remove': ['podyard teams remove vision anna', 'podyard teams remove vision anna --yes'],
  simulate: ['podyard simulate show', 'podyard simulate capacity ADA_24 0'],
  'simulate show': ['podyard simulate show', 'podyard simulate show --data-dir /var/lib/podyard'],
  'simulate capacity': ['podyard simulate capacity ADA_24 0', 'podyard simulate capacity AMPERE_80@EU-RO-1 2'],
  'simulate slow-pull': ['podyard simulate slow-pull 60', 'podyard simulate slow-pull 60 --image vllm:v1'],
  'simulate crash': ['podyard simulate crash --worker w4kx7', 'podyard simulate crash --endpoint abc123 --starts 5'],
  'simulate preempt': ['podyard simulate preempt w4kx7', 'podyard simulate preempt w4kx7 --grace 30'],
  'simulate reset': ['podyard simulate reset', 'podyard simulate reset --data-dir /var/lib/podyard'],
  'secrets rotate-key': ['podyard secrets rotate-key', 'podyard secrets rotate-key --data-dir /var/lib/podyard'],
  'templates mark': ['podyard templates mark abc123 official', 'podyard templates mark abc123 none'],
  backup: ['podyard backup podyard.backup', 'podyard backup podyard.backup --with-master-key'],
  restore: [
    'podyard restore podyard.backup --data-dir new',
    'podyard restore podyard.backup --database-url postgresql://db/podyard',
  ],
  move: [
    'podyard move --to postgresql://db/podyard',
    'podyard move --database-url postgresql://db/podyard --to embedded',
  ],
  'stop-workers': ['podyard stop-workers', 'podyard stop-workers --runtime docker --grace 60'],
};

/** Examples of the commands that talk to a server: by the command's path, two or more lines for a shell. */
const CLIENT_EXAMPLES: Record<string, readonly string[]> = {
  login: ['podyard login', 'podyard login https://podyard.example.com --name work'],
  contexts: ['podyard contexts', 'podyard contexts use work'],
  'contexts list': ['podyard contexts list', 'podyard contexts'],
  'contexts use': ['podyard contexts use work', 'podyard contexts use default'],
  'contexts remove': ['podyard contexts remove work', 'podyard contexts remove work --yes'],
  open: ['podyard open', 'podyard open first'],
  endpoints: ['podyard endpoints', 'podyard endpoints get first'],
  ...recordExamples('endpoints', 'first'),
  'endpoints create': [
    'podyard endpoints create first --image ghcr.io/me/worker:1 --pool ADA_24',
    'podyard endpoints create small --template worker --cpu cpu3c:4 --workers-min 1 --env-file .env',
  ],
  'endpoints update': [
    'podyard endpoints update first --image ghcr.io/me/worker:2 --wait',
    'podyard endpoints update first --env LOG_LEVEL=debug --unset-env OLD --workers-max 5',
  ],
  'endpoints schedule': [
    "podyard endpoints schedule first --time-zone Europe/Berlin --floor 'mon-fri 08:00-18:00 3'",
    'podyard endpoints schedule first --clear',
  ],
  git: ['podyard git connect first https://github.com/me/app', 'podyard git show first'],
  'git connect': [
    'podyard git connect first https://github.com/me/app --token-secret github-token --poll 300',
    "podyard git connect first git@github.com:me/app.git --deploy-key --tags 'v*' --folder services/app",
  ],
  'git show': ['podyard git show first', 'podyard git show first --json'],
  'git sync': ['podyard git sync first', 'podyard git sync first --json'],
  'git disconnect': ['podyard git disconnect first', 'podyard git disconnect first --json'],
  'endpoints gpu-rule': [
    "podyard endpoints gpu-rule first --exclude 'NVIDIA L4' --min-cuda 12.4",
    'podyard endpoints gpu-rule first --clear',
  ],
  'endpoints workload-options': [
    'podyard endpoints workload-options first --label kueue.x-k8s.io/queue-name=research',
    'podyard endpoints workload-options first --memory-per-gpu 96',
  ],
  workers: ['podyard workers first', 'podyard workers first --ended'],
  releases: ['podyard releases first', 'podyard releases first --json'],
  rollback: ['podyard rollback first', 'podyard rollback first --to 3 --no-wait'],
  rollout: ['podyard rollout first', 'podyard rollout first --pause', 'podyard rollout first --try'],
  history: ['podyard history first', 'podyard history first --range 7d --json'],
  decisions: ['podyard decisions first', 'podyard decisions first --json'],
  run: [`podyard run first '{"name": "Ada"}'`, 'podyard run first --file input.json --stream --cancel-on-interrupt'],
  jobs: ['podyard jobs first', 'podyard jobs get first 0198f0c2-u1'],
  'jobs list': [
    'podyard jobs list first --status FAILED --since 2h',
    "podyard jobs list first --error 'out of memory'",
  ],
  'jobs get': ['podyard jobs get first 0198f0c2-u1', 'podyard jobs get first 0198f0c2-u1 --output > output.json'],
  'jobs follow': ['podyard jobs follow first 0198f0c2-u1', 'podyard jobs follow first 0198f0c2-u1 --stream'],
  'jobs cancel': ['podyard jobs cancel first 0198f0c2-u1', 'podyard jobs cancel first 0198f0c2-u1 --json'],
  'jobs retry': ['podyard jobs retry first 0198f0c2-u1', 'podyard jobs retry first 0198f0c2-u1 --json'],
  'jobs purge': ['podyard jobs purge first', 'podyard jobs purge first --yes'],
  logs: ['podyard logs first --follow', 'podyard logs first --worker w4kx7 --tail 1000 --source container'],
  batch: ['podyard batch submit night.jsonl --endpoint first', 'podyard batch list first'],
  'batch submit': [
    'podyard batch submit night.jsonl --endpoint first --wait',
    'podyard batch submit night.jsonl.gz --endpoint first --name night --no-order',
  ],
  'batch list': ['podyard batch list first', 'podyard batch list first --limit 200 --json'],
  'batch status': ['podyard batch status first batch_abc123', 'podyard batch status first batch_abc123 --wait'],
  'batch results': [
    'podyard batch results first batch_abc123',
    'podyard batch results first batch_abc123 -o out.jsonl',
  ],
  'batch cancel': ['podyard batch cancel first batch_abc123', 'podyard batch cancel first batch_abc123 --json'],
  models: ['podyard models', 'podyard models show first'],
  'models list': ['podyard models list', 'podyard models --json'],
  'models show': ['podyard models show first', 'podyard models show first --json'],
  'models set': [
    'podyard models set first hf:Qwen/Qwen3-8B',
    "podyard models set first hf:meta-llama/Llama-3.1-8B@main --exclude 'original/*' --token-secret hub",
  ],
  'models remove': ['podyard models remove first', 'podyard models remove first Qwen/Qwen3-8B'],
  'models stored': ['podyard models stored', 'podyard models stored --json'],
  'models free': ['podyard models free Qwen/Qwen3-8B', 'podyard models free 3f79bb7b435b --json'],
  pods: ['podyard pods', 'podyard pods logs box --follow'],
  ...recordExamples('pods', 'box'),
  'pods create': [
    'podyard pods create box --image ubuntu:24.04 --cpu cpu3c --port 8000/http --wait',
    "podyard pods create train --template pytorch --gpu 'NVIDIA GeForce RTX 4090' --ssh --network-volume models:/data",
  ],
  'pods update': [
    'podyard pods update box --image ubuntu:25.04 --env-file .env',
    'podyard pods update box --persistent 40 --lock --private',
  ],
  'pods lifetime': ['podyard pods lifetime box', 'podyard pods lifetime box --stop-after 2h --terminate-after never'],
  'pods ssh': ['podyard pods ssh box', '$(podyard pods ssh box)'],
  'pods jupyter': ['podyard pods jupyter box', 'podyard pods jupyter box --json'],
  'pods start': ['podyard pods start box', 'podyard pods start box --wait'],
  'pods stop': ['podyard pods stop box', 'podyard pods stop box --json'],
  'pods restart': ['podyard pods restart box', 'podyard pods restart box --wait'],
  'pods logs': ['podyard pods logs box --follow', 'podyard pods logs box --tail 1000 --source container'],
  'ssh-keys': ['podyard ssh-keys', 'podyard ssh-keys add ~/.ssh/id_ed25519.pub'],
  'ssh-keys list': ['podyard ssh-keys list', 'podyard ssh-keys list --json'],
  'ssh-keys add': ['podyard ssh-keys add ~/.ssh/id_ed25519.pub', 'podyard ssh-keys add team.pub --json'],
  'ssh-keys remove': ['podyard ssh-keys remove anna@laptop', 'podyard ssh-keys remove anna@laptop --yes'],
  clusters: ['podyard clusters', 'podyard clusters pods ring'],
  ...recordExamples('clusters', 'ring'),
  'clusters create': [
    "podyard clusters create ring --image ghcr.io/me/train:1 --gpu 'NVIDIA H100 80GB HBM3' --gpu-count 8 --pods 4",
    "podyard clusters create small --template pytorch --gpu 'NVIDIA L4' --pods 2 --type RAY",
  ],
  'clusters rename': ['podyard clusters rename ring circle', 'podyard clusters rename ring circle --json'],
  'clusters pods': ['podyard clusters pods ring', 'podyard clusters pods ring --json'],
  templates: ['podyard templates', 'podyard templates public --source official'],
  ...recordExamples('templates', 'pytorch'),
  'templates create': [
    'podyard templates create pytorch --image pytorch/pytorch:latest --persistent 40 --ssh',
    'podyard templates create worker --image ghcr.io/me/worker:1 --serverless --env-file .env',
  ],
  'templates update': [
    'podyard templates update pytorch --image pytorch/pytorch:2.8 --env DEBUG=1',
    'podyard templates update pytorch --public --no-ssh',
  ],
  'templates public': ['podyard templates public', 'podyard templates public --source official verified'],
  secrets: ['podyard secrets', 'podyard secrets create HF_TOKEN'],
  ...recordExamples('secrets', 'HF_TOKEN'),
  'secrets create': [
    'podyard secrets create HF_TOKEN',
    "podyard secrets create HF_TOKEN --description 'reads models' < token.txt",
  ],
  'secrets update': ['podyard secrets update HF_TOKEN', 'podyard secrets update HF_TOKEN < token.txt'],
  volumes: ['podyard volumes', 'podyard volumes create models --size 100 --data-center LOCAL-1'],
  ...recordExamples('volumes', 'models'),
  's3-keys': ['podyard s3-keys', 'podyard s3-keys create laptop --scope files/models:write'],
  's3-keys create': ['podyard s3-keys create laptop', 'podyard s3-keys create backup --scope files/models:read --json'],
  's3-keys list': ['podyard s3-keys list', 'podyard s3-keys list --json'],
  's3-keys revoke': ['podyard s3-keys revoke laptop', 'podyard s3-keys revoke laptop --yes --json'],
  'volumes create': [
    'podyard volumes create models --size 100 --data-center LOCAL-1',
    'podyard volumes create models --size 100 --data-center EU-RO-1 --json',
  ],
  'volumes list': ['podyard volumes ls', 'podyard volumes ls models:checkpoints'],
  'volumes cp': ['podyard volumes cp weights.bin models:llama/', 'podyard volumes cp -r models:results ./results'],
  'volumes rm': ['podyard volumes rm models:llama/weights.bin', 'podyard volumes rm -r models:results --yes'],
  'volumes update': ['podyard volumes update models --size 200', 'podyard volumes update models --name weights'],
  registries: ['podyard registries', 'podyard registries create hub --username me'],
  ...recordExamples('registries', 'hub'),
  'registries create': [
    'podyard registries create hub --username me',
    'podyard registries create ghcr --username me < token.txt',
  ],
  catalog: ['podyard catalog gpus', 'podyard catalog datacenters'],
  'catalog gpus': ['podyard catalog gpus', 'podyard catalog gpus --json'],
  'catalog cpus': ['podyard catalog cpus', 'podyard catalog cpus --json'],
  'catalog datacenters': ['podyard catalog datacenters', 'podyard catalog datacenters --json'],
  billing: ['podyard billing --by endpoint --last 7', 'podyard billing --csv --from 2026-11-01 > november.csv'],
  budgets: ['podyard budgets', 'podyard budgets set 250'],
  'budgets list': ['podyard budgets list', 'podyard budgets list --json'],
  'budgets set': [
    'podyard budgets set 250 --notify-at 50 80 --webhook https://example.com/budget',
    'podyard budgets set 20 --endpoint llm --action stop',
  ],
  'budgets remove': ['podyard budgets remove llm', 'podyard budgets remove account --yes'],
  audit: ['podyard audit', 'podyard audit --user all --outcome refused'],
  'audit list': [
    'podyard audit list --operation endpoint --since 2026-11-01',
    'podyard audit list --record k3v8q2m7c1x9za',
  ],
  'audit export': [
    'podyard audit export --user all --since 2026-11-01 > november.jsonl',
    'podyard audit export --record k3v8q2m7c1x9za',
  ],
  'audit verify': ['podyard audit verify', 'podyard audit verify --data-dir /var/lib/podyard --json'],
  limits: ['podyard limits', 'podyard limits --json'],
  import: [
    'podyard import --from https://podyard.example.com --dry-run',
    'podyard import --from https://podyard.example.com --secrets secrets.json --only template endpoint',
  ],
};

/** Examples of what all kinds of records have. */
function recordExamples(area: string, name: string): Record<string, readonly string[]> {
  return {
    [`${area} list`]: [`podyard ${area} list`, `podyard ${area} list --json`],
    [`${area} get`]: [`podyard ${area} get ${name}`, `podyard ${area} get ${name} --json`],
    [`${area} delete`]: [`podyard ${area} delete ${name}`, `podyard ${area} delete ${name} --yes`],
  };
}

/** Examples of every command, by its path without `podyard`. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = { ...OPERATOR_EXAMPLES, ...CLIENT_EXAMPLES };

/** Ends the help of a command, and of those below it, with their examples. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')];
  if (examples) command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
  for (const child of command.commands) addExamples(child, [...path, child.name()]);
}
