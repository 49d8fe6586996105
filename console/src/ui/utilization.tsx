import { Group, Progress, Stack, Text } from '@mantine/core';
import { formatPercent } from './text/format.ts';

interface Usage {
  cpu: { util: number };
  memory: { util: number };
  gpus: { util: number; memoryUtil: number }[];
}

/** The percentages of what a pod or worker has that it uses now. */
export function Utilization({ usage: { cpu, memory, gpus } }: { usage: Usage }) {
  const ofGpus = gpus.flatMap(({ util, memoryUtil }, n) => [
    { label: `GPU ${n}`, percent: util },
    { label: `Memory of GPU ${n}`, percent: memoryUtil },
  ]);
  const meters = [{ label: 'CPU', percent: cpu.util }, { label: 'Memory', percent: memory.util }, ...ofGpus];
  return (
    <Stack gap="xs">
      {meters.map((meter) => (
        <Meter key={meter.label} {...meter} />
      ))}
    </Stack>
  );
}

function Meter({ label, percent }: { label: string; percent: number }) {
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm" className="figure">
          {formatPercent(percent)}
        </Text>
      </Group>
      <Progress value={percent} aria-label={label} />
    </div>
  );
}
