import { StringDecoder } from 'node:string_decoder';

/**
 * Splits a byte stream into JSONL records: on LF and nothing else, with a CR before it dropped.
 *
 * Node's `readline` also splits on U+2028 and U+2029, which are legal inside JSON strings
 * (Pi's `docs/rpc.md`, "Framing"). Characters cut by a chunk border are put together again,
 * and a long record costs time linear in its length.
 */
export class RecordSplitter {
	#decoder = new StringDecoder('utf8');
	#pieces: string[] = [];

	/** Takes the next bytes; returns the records they complete, in order, without blank ones. */
	push(chunk: Buffer): string[] {
		const parts = this.#decoder.write(chunk).split('\n');
		const records: string[] = [];

		for (const [index, part] of parts.entries()) {
			this.#pieces.push(part);
			if (index === parts.length - 1) break;

			const record = this.#pieces.join('').replace(/\r$/, '');
			this.#pieces = [];
			if (record !== '') records.push(record);
		}

		return records;
	}
}
