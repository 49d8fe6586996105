/**
 * Asks `nvidia-smi` everything in one go, in the same way on this machine and in a container. Each answer is a section that
 * ends with its exit code; 124: it did not answer in time. Where one GPU is lost, `nvidia-smi` may list none of the others:
 * then each is asked alone. `parseNvidia` reads what this prints.
 */
import { existsSync } from 'node:fs';

const QUERY = [
  '--query-gpu=uuid,name,memory.total,driver_version,mig.mode.current,pci.bus_id',
  '--format=csv,noheader,nounits',
];
const DRIVER = ['-q', '-d', 'COMPUTE'];
/** A driver that is stuck answers never. */
const COMMAND_TIMEOUT_S = 20;
/** A folder for each GPU that the driver has found, named after its address. */
const PROC_GPUS = '/proc/driver/nvidia/gpus';

/**
 * Returns the command for this machine, and for a container of the image in which this process runs. Podyard's own image has
 * no shell. `procGpus`: where the driver lists the GPUs it found.
 */
export function nvidiaCommand(procGpus = PROC_GPUS, hasShell = existsSync('/bin/sh')): string[] {
  return hasShell ? nvidiaShellCommand(procGpus) : [process.execPath, '-e', nvidiaProgram(procGpus)];
}

/** Returns the command for any image with a shell. */
export function nvidiaShellCommand(procGpus = PROC_GPUS): string[] {
  return ['/bin/sh', '-c', nvidiaScript(procGpus)];
}

function nvidiaScript(procGpus: string): string {
  return `
command -v nvidia-smi >/dev/null 2>&1 || { echo '### absent'; exit 0; }
ask() { echo "### $1"; shift; timeout ${COMMAND_TIMEOUT_S} nvidia-smi "$@" 2>&1; code=$?; echo; echo "### exit $code"; }
all() {
  ask "query$1" $2 ${QUERY.join(' ')}
  [ $code -eq 0 ] || return
  ask "list$1" $2 -L
  ask "driver$1" $2 ${DRIVER.join(' ')}
}
all '' ''
if [ $code -ne 0 ] && [ $code -ne 124 ]; then
  for gpu in ${procGpus}/*; do
    [ -d "$gpu" ] && all " \${gpu##*/}" "-i \${gpu##*/}"
  done
fi
exit 0
`;
}

/** The script, line by line, for Node.js. */
function nvidiaProgram(procGpus: string): string {
  return `
const { spawnSync } = require('node:child_process');
const { readdirSync } = require('node:fs');
const env = { ...process.env, PATH: [process.env.PATH, '/usr/local/bin:/usr/bin:/bin'].filter(Boolean).join(':') };
const options = { env, encoding: 'utf8', timeout: ${COMMAND_TIMEOUT_S * 1000}, killSignal: 'SIGKILL', maxBuffer: 2 ** 22 };
let code = 0;
function ask(name, ...words) {
  const { error, status, stdout, stderr } = spawnSync('nvidia-smi', words, options);
  if (error?.code === 'ENOENT') {
    console.log('### absent');
    process.exit();
  }
  code = error?.code === 'ETIMEDOUT' ? 124 : status ?? 1;
  console.log('### ' + name + '\\n' + stdout + stderr + '\\n### exit ' + code);
}
function all(suffix, ...gpu) {
  ask('query' + suffix, ...gpu, ...${JSON.stringify(QUERY)});
  if (code !== 0) return;
  ask('list' + suffix, ...gpu, '-L');
  ask('driver' + suffix, ...gpu, ...${JSON.stringify(DRIVER)});
}
function found() {
  try {
    return readdirSync(${JSON.stringify(procGpus)});
  } catch {
    return [];
  }
}
all('');
if (code !== 0 && code !== 124) for (const gpu of found()) all(' ' + gpu, '-i', gpu);
`;
}
