import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { type CostView, costQuery } from './cost-rows.ts';

/** Downloads what the page shows as CSV, a line for each day and resource. A link could not send the key. */
export function ExportButton({ view }: { view: CostView }) {
  const download = useMutation({
    mutationFn: async () => {
      const entries = Object.entries(costQuery(view, new Date())).map(([name, value]) => [name, String(value)]);
      const response = await request(`/v2/billing/export?${new URLSearchParams(entries)}`);
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'costs.csv';
      const url = URL.createObjectURL(await response.blob());
      Object.assign(document.createElement('a'), { href: url, download: name }).click();
      URL.revokeObjectURL(url);
      return name;
    },
    onSuccess: (name) => notifySuccess(`Downloaded ${name}.`),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
      onClick={() => download.mutate()}
      loading={download.isPending}
    >
      Export CSV
    </Button>
  );
}
