import type { SessionEvent } from './conversation.ts';

/** What happened, and when on the proxy's monotonic clock, in ms. */
export interface Happening {
	at: number;
	event: SessionEvent;
}

/** The page draws text that comes quicker about as often. */
const FRAME_MS = 24;
/** What a running command shows is its last so many characters, once it prints faster than is sent. */
const TAIL = 12 * 1024;
/** Output goes out at most this fast, so that 10 MB in 10 s cost a browser a tenth of that. */
const OUTPUT_PER_MS = 100;

/**
 * Holds back what comes in a burst: text for a frame, the output of a command for as long as it
 * takes to read what went before. What comes alone, and everything else, goes on at once; the order
 * stays, except that output gives way to text.
 */
export class Gathering {
	#emit: (happenings: Happening[]) => void;
	#text: Happening[] = [];
	#outputs = new Map<string, Happening & { event: ToolUpdate }>();
	#textFrom = -Infinity;
	#outputFrom = -Infinity;
	#timer: NodeJS.Timeout | undefined;
	#wakesAt = Infinity;

	/** `emit` is given what goes on, in order. */
	constructor(emit: (happenings: Happening[]) => void) {
		this.#emit = emit;
	}

	add(event: SessionEvent, at: number) {
		if (event.type === 'text' || event.type === 'thinking') this.#addText(event, at);
		else if (event.type === 'tool_update') this.#addOutput(event, at);
		else {
			// It brings the whole output with it.
			if (event.type === 'tool_end') this.#outputs.delete(event.toolCallId);
			this.#text.push({ at, event });
			return this.flush(at);
		}
		this.#send(at, false);
	}

	/** Sends all that was held back. */
	flush(at: number) {
		this.#send(at, true);
	}

	#addText(event: Text, at: number) {
		const last = this.#text.at(-1)?.event;
		if (
			last?.type === event.type &&
			last.messageId === event.messageId &&
			last.block === event.block
		) {
			last.text += event.text;
		} else this.#text.push({ at, event: { ...event } });
	}

	#addOutput(event: ToolUpdate, at: number) {
		const held = this.#outputs.get(event.toolCallId)?.event;
		const text = held && event.mode === 'append' ? held.text + event.text : event.text;
		const mode = held && event.mode === 'append' ? held.mode : event.mode;
		const update: ToolUpdate =
			text.length <= TAIL
				? { ...event, mode, text }
				: { ...event, mode: 'replace', text: tail(text) };
		this.#outputs.set(event.toolCallId, { at, event: update });
	}

	#send(at: number, all: boolean) {
		const ready: Happening[] = [];
		if (this.#outputs.size > 0 && (all || at >= this.#outputFrom)) {
			const outputs = [...this.#outputs.values()];
			const length = outputs.reduce((sum, { event }) => sum + event.text.length, 0);
			this.#outputFrom = at + Math.max(FRAME_MS, length / OUTPUT_PER_MS);
			this.#outputs.clear();
			ready.push(...outputs);
		}
		if (this.#text.length > 0 && (all || at >= this.#textFrom)) {
			this.#textFrom = at + FRAME_MS;
			ready.push(...this.#text);
			this.#text = [];
		}
		if (ready.length > 0) this.#emit(ready);

		const next = Math.min(
			this.#text.length > 0 ? this.#textFrom : Infinity,
			this.#outputs.size > 0 ? this.#outputFrom : Infinity,
		);
		if (next < this.#wakesAt) this.#wakeAt(next, at);
	}

	/** One timer for all that waits: there may be thousands of words a second. */
	#wakeAt(next: number, at: number) {
		clearTimeout(this.#timer);
		this.#wakesAt = next;
		this.#timer = setTimeout(
			() => {
				this.#wakesAt = Infinity;
				this.#send(performance.now(), false);
			},
			Math.max(1, next - at),
		);
	}
}

type Text = Extract<SessionEvent, { type: 'text' | 'thinking' }>;
type ToolUpdate = Extract<SessionEvent, { type: 'tool_update' }>;

/** The end of an output, from the beginning of a line where there is one. */
function tail(text: string) {
	const end = text.slice(-TAIL);
	const line = end.indexOf('\n') + 1;
	return line > 0 && line < end.length ? end.slice(line) : end;
}
