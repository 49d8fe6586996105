import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { discardForms } from '../ui/forms/unsaved.ts';

/** Asks what becomes of what was typed on the page that is left. */
export function LeaveDialog({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  const discard = () => {
    discardForms();
    onLeave();
  };
  return (
    <Modal.Root opened onClose={onStay}>
      <Modal.Overlay />
      {/* Without a header of Mantine's: a page has one banner. */}
      <Modal.Content aria-label="Unsaved changes">
        <Modal.Body>
          <Stack>
            <Text fw={600}>Leave with unsaved changes?</Text>
            <Text size="sm">They are not saved. What you keep is there when you come back in this tab.</Text>
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={onStay} data-autofocus>
                Stay
              </Button>
              <Button variant="default" color="red" onClick={discard}>
                Discard
              </Button>
              <Button onClick={onLeave}>Keep and leave</Button>
            </Group>
          </Stack>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
