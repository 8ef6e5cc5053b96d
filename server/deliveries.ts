import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AgentEvent, Image, ReturnedMessage } from './bridge/events.ts';
import type { SessionEvent } from './conversation.ts';
import { Journal } from './journal.ts';
import type { Accepted } from './journal.ts';

/** What Pi tells only after it has written down what it told before. */
const WRITTEN_BEFORE = new Set<SessionEvent['type']>([
	'message_start',
	'tool_start',
	'auto_retry_start',
	'agent_settled',
]);

/** What was accepted for a session, from a browser's hands into Pi's own file. */
export class Deliveries {
	#journal: Journal;
	/** Prompts that Pi has begun to work on, until its file holds them. */
	#delivered: string[] = [];

	constructor(folder: string, session: string) {
		this.#journal = new Journal(folder, session);
	}

	knows(id: string): boolean {
		return this.#journal.knows(id);
	}

	/** @throws {Error} when it cannot be written down; then nothing was accepted */
	accept(id: string, text: string, images: Image[]) {
		try {
			this.#journal.accept({ id, text, images, time: Date.now() });
		} catch (error) {
			throw new Error(
				`Holdfast cannot write down what you sent (${(error as Error).message}), so it was not sent. Make room on the disk and send it again.`,
			);
		}
	}

	/** Refused, taken back, or done otherwise: no more to be cared for. */
	done(id: string) {
		this.#journal.done(id);
	}

	/** Forgets what Pi's own file holds by now. */
	follow(event: SessionEvent, file: string | undefined) {
		if (event.type === 'user_message') {
			if (event.promptId !== undefined) this.#delivered.push(event.promptId);
		} else if (WRITTEN_BEFORE.has(event.type) && this.#delivered.length > 0) {
			// Pi begins its file with the first message. One on another machine is taken at its word.
			if (file !== undefined && existsSync(dirname(file)) && !existsSync(file)) return;
			for (const id of this.#delivered.splice(0)) this.#journal.done(id);
		}
	}

	/** What was accepted and is in none of the messages that a Pi just started knows. */
	lost(history: AgentEvent[]): ReturnedMessage[] {
		this.#delivered = [];
		const lost: Accepted[] = [];
		for (const accepted of this.#journal.open) {
			if (holds(history, accepted)) this.#journal.done(accepted.id);
			else lost.push(accepted);
		}
		return lost.map(({ id, text, images }) => ({
			id,
			text,
			...(images.length > 0 ? { images } : {}),
		}));
	}

	/** Pi gives the texts of its queue back, but not their images. */
	addImages(messages: ReturnedMessage[]) {
		for (const message of messages) {
			const accepted = this.#journal.open.find(({ id }) => id === message.id);
			if (accepted && accepted.images.length > 0) message.images = accepted.images;
		}
	}
}

/** Pi expands `/template`, and adds hints about images: such a text looks otherwise afterwards. */
const holds = (history: AgentEvent[], { text, time }: Accepted) =>
	history.some(
		(event) =>
			event.type === 'user_message' &&
			(event.timestamp ?? 0) >= time &&
			(event.text === text || text.startsWith('/') || event.text.startsWith(`${text}\n\n`)),
	);
