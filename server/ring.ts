import type { NumberedEvent } from './protocol.ts';

const DEFAULT_EVENTS = 5_000;
const DEFAULT_BYTES = 16 * 1024 * 1024;

/** The last events of a session, for browsers that missed some. Bounded in number and in bytes. */
export class Ring {
	#events: { numbered: NumberedEvent; bytes: number }[] = [];
	#bytes = 0;
	#maxEvents: number;
	#maxBytes: number;

	constructor(maxEvents = DEFAULT_EVENTS, maxBytes = DEFAULT_BYTES) {
		this.#maxEvents = maxEvents;
		this.#maxBytes = maxBytes;
	}

	push(numbered: NumberedEvent) {
		const bytes = sizeOf(numbered.event);
		this.#events.push({ numbered, bytes });
		this.#bytes += bytes;
		let dropped = 0;
		while (this.#events.length - dropped > this.#maxEvents || this.#bytes > this.#maxBytes) {
			this.#bytes -= this.#events[dropped++]!.bytes;
		}
		// Seldom and many at once, so that each event costs the same however long the ring is.
		if (dropped > 0) this.#events.splice(0, dropped);
	}

	/** The events after number `seq`, or undefined when they are no longer all here. */
	after(seq: number): NumberedEvent[] | undefined {
		const first = this.#events[0]?.numbered.seq;
		const last = this.#events.at(-1)?.numbered.seq;
		if (first === undefined || last === undefined || seq > last || seq < first - 1)
			return undefined;
		return this.#events.slice(seq - first + 1).map(({ numbered }) => numbered);
	}
}

/** About how much an event weighs: only texts and images can be heavy. */
function sizeOf(event: object): number {
	let bytes = 64;
	for (const value of Object.values(event) as unknown[]) {
		if (typeof value === 'string') bytes += value.length;
		else if (typeof value === 'object' && value !== null) bytes += JSON.stringify(value).length;
	}
	return bytes;
}
