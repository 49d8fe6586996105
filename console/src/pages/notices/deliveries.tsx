import { Button, Modal, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { EmptyNote, Loaded } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { DELIVERY_STATES, type Delivery, type Destination, deliveryText } from './notice-values.ts';

/** A button that shows the newest messages to a destination. */
export function Deliveries({ destination: { id, name } }: { destination: Destination }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={open}>
        Deliveries
      </Button>
      <Modal opened={isOpen} onClose={close} title={visibleText(`Messages to ${name}`)} size="xl">
        {isOpen && <DeliveryList id={id} />}
      </Modal>
    </>
  );
}

function DeliveryList({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['notices', id, 'deliveries'],
    queryFn: () => unwrap(api.GET('/v2/account/notices/{id}/deliveries', { params: { path: { id } } })),
  });
  return (
    <Loaded query={query}>
      {({ deliveries }) =>
        deliveries.length === 0 ? (
          <EmptyNote>Nothing was sent there within the last 30 days.</EmptyNote>
        ) : (
          <SmallTable label="Messages" titles={['When', 'What', 'State']} minWidth={480}>
            {deliveries.map((delivery) => (
              <DeliveryRow key={delivery.id} delivery={delivery} />
            ))}
          </SmallTable>
        )
      }
    </Loaded>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { createdAt, status, error, nextAttemptAt } = delivery;
  return (
    <Table.Tr>
      <Table.Td>
        <RelativeTime at={createdAt} />
      </Table.Td>
      <Table.Td>
        <div>
          {visibleText(deliveryText(delivery))}
          {error !== null && (
            <Text size="sm" c="dimmed">
              {visibleText(error)}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td>
        <div>
          <Status table={DELIVERY_STATES} value={status} />
          {nextAttemptAt !== null && (
            <Text size="sm" c="dimmed">
              Again <RelativeTime at={nextAttemptAt} />
            </Text>
          )}
        </div>
      </Table.Td>
    </Table.Tr>
  );
}
