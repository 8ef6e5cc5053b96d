import { expect, test } from 'vitest';
import { render } from 'vitest-browser-svelte';
import '../app.css';
import { applyEvent, emptyConversation } from '../../server/conversation.ts';
import type { SessionEvent } from '../../server/conversation.ts';
import { Outbox } from '../state/outbox.ts';
import { Session } from '../state/session.svelte.ts';
import Transcript from './Transcript.svelte';

/** What was drawn is on the screen, and the browser has taken its measure. */
async function frame() {
	await new Promise(requestAnimationFrame);
	await new Promise((resolve) => setTimeout(resolve));
}

/** A page that holds so many messages, of which `earlier` more came before. */
async function shown(count: number, earlier = 0) {
	const conversation = emptyConversation();
	const session = new Session(
		new Outbox(() => {}),
		's',
		() => {},
		() => true,
	);
	for (let number = 0; number < earlier + count; number++) {
		const id = `u${number}`;
		const said: SessionEvent = { type: 'user_message', messageId: id, text: id, images: [] };
		applyEvent(conversation, said, 0);
	}
	const greeting = { session: 's', epoch: 'e', seq: 0, now: 0 };
	const messages = conversation.messages.splice(0, earlier);
	session.welcome({
		...{ type: 'welcome', ...greeting },
		conversation: { ...conversation, earlier },
	});
	const { container } = await render(Transcript, { session, stripHeight: 0 });
	const log = container.querySelector<HTMLElement>('[role=log]')!;
	log.style.height = '600px';
	await frame();
	let seq = 0;
	const happen = async (event: SessionEvent) => {
		session.receive({ events: [{ seq: ++seq, at: 0, event }] });
		await frame();
	};
	const answer = { type: 'earlier' as const, ...greeting, before: earlier, messages };
	return { container, log, session, happen, answer };
}

test('messages out of sight are skipped in groups, those at the end are not', async () => {
	const { container } = await shown(120);
	const styles = [...container.querySelectorAll('[data-role=user]')].map(
		(message) => getComputedStyle(message.parentElement!).contentVisibility,
	);
	expect(styles).toEqual([
		...Array<string>(100).fill('auto'),
		...Array<string>(20).fill('visible'),
	]);
});

test('an answer that says nothing yet moves nothing, also where it begins a group', async () => {
	const { log, happen } = await shown(50);
	const before = log.scrollHeight;
	await happen({ type: 'message_start', messageId: 'a' });
	expect(log.scrollHeight).toBe(before);
	await happen({ type: 'text', messageId: 'a', block: 0, text: 'Now.' });
	await expect.poll(() => log.scrollHeight).toBeGreaterThan(before + 22);
});

test('earlier messages keep the elements that are there, and the place of what is read', async () => {
	const { container, log, session, answer } = await shown(60, 40);
	const all = () => [...container.querySelectorAll<HTMLElement>('[data-role=user]')];
	const [first, ...others] = all();
	log.scrollTop = log.scrollHeight;
	await frame();
	log.scrollTop = 0;
	await frame();
	const before = first!.getBoundingClientRect().top;

	session.receiveEarlier(answer);
	await expect.poll(() => all().length).toBe(100);
	expect(all().slice(40)).toEqual([first, ...others]);
	expect(Math.abs(first!.getBoundingClientRect().top - before)).toBeLessThan(2);
	expect(container.textContent).not.toContain('Earlier messages');
});
