const LF = 0x0a;

/**
 * Splits a byte stream into JSONL records: on LF and nothing else, with a CR before it dropped.
 *
 * Node's `readline` also splits on U+2028 and U+2029, which are legal inside JSON strings
 * (Pi's `docs/rpc.md`, "Framing"). Characters cut by a chunk border are put together again,
 * and a long record costs time linear in its length.
 */
export class RecordSplitter {
	#pieces: Buffer[] = [];

	/** Takes the next bytes; returns the records they complete, in order, without blank ones. */
	push(chunk: Buffer): string[] {
		const end = chunk.lastIndexOf(LF);
		if (end < 0) {
			this.#pieces.push(chunk);
			return [];
		}
		this.#pieces.push(chunk.subarray(0, end));
		const [only] = this.#pieces;
		const complete = this.#pieces.length === 1 ? only! : Buffer.concat(this.#pieces);
		this.#pieces = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];

		// One decoding for all of them: most are short.
		const records = complete.toString('utf8').split('\n');
		return records.map((one) => (one.endsWith('\r') ? one.slice(0, -1) : one)).filter(Boolean);
	}
}
