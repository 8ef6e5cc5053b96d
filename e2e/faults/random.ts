/** Every random choice of the matrix: the same seed and row make the same choices. */
export class Random {
	#state: number;

	constructor(seed: number, name: string) {
		this.#state = [...name].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) | 0, seed);
	}

	/** From 0 to below 1 (mulberry32). */
	fraction(): number {
		this.#state = (this.#state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	}

	/** A whole number, both ends possible. */
	between(least: number, most: number): number {
		return least + Math.floor(this.fraction() * (most - least + 1));
	}

	/** As often small as large, over several orders of magnitude. */
	magnitude(least: number, most: number): number {
		return Math.round(least * (most / least) ** this.fraction());
	}

	chance(probability: number): boolean {
		return this.fraction() < probability;
	}

	pick<T>(list: readonly T[]): T {
		return list[this.between(0, list.length - 1)]!;
	}

	/** A word that nothing else in the run has. */
	word(): string {
		return Array.from({ length: 8 }, () => String.fromCharCode(97 + this.between(0, 25))).join('');
	}
}
