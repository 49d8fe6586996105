/**
 * Asks `nvidia-smi` everything in one go, with the same script on this machine and in a container. Each answer is a section
 * that ends with its exit code. Where one GPU is lost, `nvidia-smi` may list none of the others: then each is asked alone.
 */

const FIELDS = 'uuid,name,memory.total,driver_version,mig.mode.current,pci.bus_id';
const FORMAT = 'csv,noheader,nounits';
/** A driver that is stuck answers never. */
const COMMAND_TIMEOUT_S = 20;
/** A folder for each GPU that the driver has found, named after its address. */
const PROC_GPUS = '/proc/driver/nvidia/gpus';

/** `procGpus`: where the driver lists the GPUs it found. */
export function nvidiaScript(procGpus = PROC_GPUS): string {
  return `
command -v nvidia-smi >/dev/null 2>&1 || { echo '### absent'; exit 0; }
ask() { echo "### $1"; shift; timeout ${COMMAND_TIMEOUT_S} nvidia-smi "$@" 2>&1; code=$?; echo; echo "### exit $code"; }
all() {
  ask "query$1" $2 --query-gpu=${FIELDS} --format=${FORMAT}
  [ $code -eq 0 ] || return
  ask "list$1" $2 -L
  ask "driver$1" $2 -q -d COMPUTE
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

export interface Section {
  /** `query`, `list` or `driver`; of one GPU, with its address: `query 0000:3b:00.0`. */
  name: string;
  /** Null: the script was cut off. */
  code: number | null;
  text: string;
}

/** Null: there is no `nvidia-smi`. */
export function parseSections(output: string): Section[] | null {
  if (/^### absent$/m.test(output)) return null;
  const parts = output.split(/^### (?!exit )(.+)$/m).slice(1);
  return Array.from({ length: Math.floor(parts.length / 2) }, (_, i) => {
    const body = parts[2 * i + 1]!;
    const end = /^### exit (\d+)$/m.exec(body);
    return { name: parts[2 * i]!, code: end ? Number(end[1]) : null, text: body.slice(0, end?.index).trim() };
  });
}
